import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { CardType, Expenses, Panel } from '@greenroom/sdk';

import { cancelQuotes } from '../src/cards/cancelling.ts';
import { cancelsLeg } from '../src/cards/catalogue.ts';

const money = (amount_cents: number) => ({ amount_cents, currency: 'GBP' });

/** 300 pounds are paid for a leg, of which half would come back now. */
function booked(state = 'confirmed'): Panel {
  const quote = { refund: money(15_000), refund_percent: 50, notice_hours: 24 };
  const leg = { id: 'leg_1', state, cancellation_quote: quote };
  return { booking: { buyer: 'maya', legs: [leg] } } as unknown as Panel;
}

function paid(...queued: number[]): Expenses {
  const refunds = queued.map((cents) => ({ amount: money(cents), state: 'queued' }));
  const sums = { paid: money(30_000), kept: money(30_000), held: money(5_000) };
  return { legs: [{ leg_id: 'leg_1', sums, refunds }] } as unknown as Expenses;
}

describe('what a cancellation would cost', () => {
  test('the buyer gets back what was agreed, and the rest stays with the seller', () => {
    assert.deepEqual(cancelQuotes(booked(), paid(), 'maya')['leg_1'], {
      refund: money(15_000),
      kept: money(15_000),
      deposit: money(5_000),
      percent: 50,
      noticeHours: 24,
      isBuyer: true,
    });
  });

  test('a seller gives everything back that is not on its way back already', () => {
    const quote = cancelQuotes(booked(), paid(4_000), 'theo')['leg_1'];
    assert.deepEqual([quote?.refund, quote?.kept, quote?.percent], [money(26_000), money(0), 100]);
  });

  test('nothing is said of a leg that cannot be cancelled', () => {
    for (const state of ['proposed', 'completed', 'cancelled']) {
      assert.deepEqual(cancelQuotes(booked(state), paid(), 'maya'), {});
    }
    assert.deepEqual(cancelQuotes(booked(), { ...paid(), legs: [] }, 'maya'), {});
  });

  test('the catalogue tells which types end a leg', () => {
    const type = (...effects: string[]) => ({ transitions: [{ effects }] }) as unknown as CardType;
    assert.equal(cancelsLeg(type('notify', 'cancel_leg')), true);
    assert.equal(cancelsLeg(type('queue_refund')), false);
  });
});
