import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Card, DocumentRow, FeedEvent, LegExpenses, PanelTimer, Sums } from '@greenroom/sdk';

import { isAboutBooking } from '../src/cards/booking_events.ts';
import { sumsInShort, sumsToShow } from '../src/cards/booking_sums.ts';
import { cards as cardsDe } from '../src/i18n/de/cards.ts';
import { panel as panelDe } from '../src/i18n/de/panel.ts';
import { cards as cardsEn } from '../src/i18n/en/cards.ts';
import { panel as panelEn } from '../src/i18n/en/panel.ts';
import {
  documentsByLeg,
  itemsOf,
  mustSign,
  nextOfLeg,
  receiptsToShow,
  shortHash,
  splitCards,
  tiersOf,
} from '../src/panel/facts.ts';
import { QuietReload } from '../src/panel/quiet_reload.ts';
import { countIn, readTab, tabAfterKey } from '../src/panel/tabs.ts';

const HASH = 'bcc2410c1861009ba7839b3d8b8f8c1e499bafd0e288bdb549f731287f61a476';

const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

describe('tabs', () => {
  it('has a place for those that come later', () => {
    assert.equal(readTab('shotlist'), 'shotlist');
    assert.equal(readTab('gallery'), null);
    assert.equal(readTab(null), null);
  });

  it('moves with the arrows, round the ends, the other way where text runs to the left', () => {
    assert.equal(tabAfterKey('actions', 'ArrowRight', false), 'booking');
    assert.equal(tabAfterKey('actions', 'ArrowLeft', false), 'files');
    assert.equal(tabAfterKey('files', 'ArrowRight', false), 'actions');
    assert.equal(tabAfterKey('actions', 'ArrowLeft', true), 'booking');
    assert.equal(tabAfterKey('docs', 'Home', false), 'actions');
    assert.equal(tabAfterKey('docs', 'End', false), 'files');
    assert.equal(tabAfterKey('docs', 'a', false), null);
  });

  it('counts what waits, and nothing where nothing can', () => {
    const tabs = [
      { tab: 'actions' as const, available: true, count: 2 },
      { tab: 'expenses' as const, available: true, count: null },
    ];
    const panel = { tabs, booking: null, leg_id: null, timers: [], can_make: [], earlier: [] };
    assert.equal(countIn(panel, 'actions'), 2);
    assert.equal(countIn(panel, 'expenses'), 0);
    assert.equal(countIn(null, 'actions'), 0);
  });
});

describe('what is read again', () => {
  const isAbout = (type: string, kind?: string): boolean =>
    isAboutBooking({ type, message: kind ? { kind } : null } as FeedEvent);

  it('follows notices of the booking, which nobody has written', () => {
    assert.ok(isAbout('message.new', 'system'));
    assert.ok(isAbout('thread.changed'));
    assert.ok(isAbout('card.changed'));
  });

  it('is not read again for what people write', () => {
    assert.ok(!isAbout('message.new', 'text'));
    assert.ok(!isAbout('inbox.changed'));
  });
});

describe('actions', () => {
  it('shows what waits for me before what waits for others', () => {
    const cards = [
      { id: 'a', waits_for: ['noor'] },
      { id: 'b', waits_for: ['maya', 'noor'] },
    ] as Card[];
    const { mine, others } = splitCards(cards, 'maya');
    assert.deepEqual(
      [mine, others].map((each) => each.map(({ id }) => id)),
      [['b'], ['a']],
    );
  });
});

describe('expenses', () => {
  it('shows a payout once: as released, or as paid out when it has been', () => {
    const receipts = [
      { entry_id: '1', kind: 'charge', payment_id: 'pay_1' },
      { entry_id: '2', kind: 'payout.released', payment_id: 'pay_2' },
      { entry_id: '3', kind: 'payout.paid', payment_id: 'pay_2' },
      { entry_id: '4', kind: 'payout.released', payment_id: 'pay_3' },
    ] as LegExpenses['receipts'];
    assert.deepEqual(
      receiptsToShow(receipts).map((each) => each.entry_id),
      ['1', '3', '4'],
    );
  });
});

describe('booking', () => {
  it('says the policy from the longest notice to none, in days where they are whole', () => {
    const tiers = tiersOf([
      { notice_hours: 0, refund_percent: 0 },
      { notice_hours: 168, refund_percent: 100 },
      { notice_hours: 24, refund_percent: 25 },
      { notice_hours: 36, refund_percent: 50 },
    ]);
    assert.deepEqual(
      tiers.map(({ notice }) => notice),
      [
        { unit: 'days', count: 7 },
        { unit: 'hours', count: 36 },
        { unit: 'hours', count: 24 },
        { unit: 'later' },
      ],
    );
  });

  it('says of a policy without steps that it counts at any time', () => {
    const [only] = tiersOf([{ notice_hours: 0, refund_percent: 100 }]);
    assert.deepEqual(only?.notice, { unit: 'anytime' });
  });

  it('counts down to the start of a leg, and then to its end', () => {
    const timers: PanelTimer[] = [
      { kind: 'card_expires', card_id: 'c', leg_id: 'l', at: '2026-11-20T00:00:00.000Z' },
      { kind: 'leg_starts', card_id: null, leg_id: 'l', at: '2026-12-02T11:00:00.000Z' },
      { kind: 'leg_ends', card_id: null, leg_id: 'l', at: '2026-12-02T16:00:00.000Z' },
    ];
    const before = Date.parse('2026-12-02T10:00:00Z');
    const during = Date.parse('2026-12-02T12:00:00Z');
    const after = Date.parse('2026-12-03T12:00:00Z');
    assert.equal(nextOfLeg(timers, 'l', before)?.kind, 'leg_starts');
    assert.equal(nextOfLeg(timers, 'l', during)?.kind, 'leg_ends');
    assert.equal(nextOfLeg(timers, 'l', after), null);
    assert.equal(nextOfLeg(timers, 'another', before), null);
  });
});

describe('expenses', () => {
  const money = (amount_cents: number) => ({ amount_cents, currency: 'GBP' });

  const sumsOf = (given: Partial<Record<keyof Sums, number>>): Sums => {
    const names = ['agreed', 'paid', 'pending', 'open', 'failed', 'refunded'] as const;
    const all = [...names, 'kept', 'paid_out', 'held'] as const;
    return Object.fromEntries(all.map((name) => [name, money(given[name] ?? 0)])) as Sums;
  };

  it('leaves out sums of nothing, but never what is agreed and what is paid', () => {
    const sums = sumsOf({ agreed: 100, open: 100, held: 50 });
    assert.deepEqual(sumsToShow(sums), ['agreed', 'paid', 'open', 'held']);
  });

  it('says in short what is paid, and what is agreed where that is something else', () => {
    const paid = { agreed: 631, paid: 631, kept: 631 };
    assert.deepEqual(sumsInShort(sumsOf(paid)), ['paid']);
    assert.deepEqual(sumsInShort(sumsOf({ ...paid, failed: 10, refunded: 5 })), [
      'paid',
      'failed',
      'refunded',
    ]);
    const charging = sumsOf({ agreed: 631, paid: 480, pending: 151, kept: 480 });
    assert.deepEqual(sumsInShort(charging), ['agreed', 'paid', 'pending']);
    assert.deepEqual(sumsInShort(sumsOf({ agreed: 480, open: 480 })), ['agreed', 'open']);
    assert.deepEqual(sumsInShort(sumsOf({})), ['agreed']);
  });

  it('calls a sum by the same word wherever it is shown', () => {
    for (const [cards, panel] of [
      [cardsEn, panelEn],
      [cardsDe, panelDe],
    ] as const) {
      for (const name of ['agreed', 'paid', 'pending', 'open', 'failed', 'refunded'] as const) {
        assert.equal(cards.sums[name]('1').slice(2), lowered(panel.sum[name]));
      }
    }
  });

  it('reads the lines of an amendment and passes over what it does not know', () => {
    const lines = itemsOf([
      { title: 'Lunch', qty: 5, amount_cents: 6250 },
      { title: 'Parking', amount_cents: 900 },
      { kind: 'strange' },
    ]);
    assert.deepEqual(lines, [
      { title: 'Lunch', count: 5, amountCents: 6250 },
      { title: 'Parking', count: 1, amountCents: 900 },
    ]);
  });
});

describe('docs', () => {
  const row = (id: string, leg_id: string | null): DocumentRow =>
    ({ id, leg_id, state: 'pending', signers: [] }) as unknown as DocumentRow;

  it('groups them by leg in the order of the booking, the whole booking first', () => {
    const rows = [row('1', 'b'), row('2', null), row('3', 'a'), row('4', 'gone')];
    const groups = documentsByLeg(rows, ['a', 'b', 'c']);
    assert.deepEqual(
      groups.map(({ legId }) => legId),
      [null, 'a', 'b', 'gone'],
    );
  });

  it('asks for a signature only of those who have yet to give it', () => {
    const waiting: DocumentRow = {
      ...row('1', null),
      state: 'partly_signed',
      signers: [
        { user_id: 'maya', state: 'pending', at: null },
        { user_id: 'noor', state: 'signed', at: '2026-11-12T18:40:55.000Z' },
      ],
    };
    assert.equal(mustSign(waiting, 'maya'), true);
    assert.equal(mustSign(waiting, 'noor'), false);
    assert.equal(mustSign({ ...waiting, state: 'expired' }, 'maya'), false);
  });

  it('shortens a fingerprint so that both ends can be compared', () => {
    assert.equal(shortHash(HASH), 'bcc2410c…a476');
  });
});

describe('quiet reload', () => {
  class FakeClock {
    nowMs = 0;
    timers: { atMs: number; run: () => void }[] = [];
    now = (): number => this.nowMs;
    setTimeout = (run: () => void, delayMs: number): unknown => {
      const timer = { atMs: this.nowMs + delayMs, run };
      this.timers.push(timer);
      return timer;
    };
    clearTimeout = (timer: unknown): void => {
      this.timers = this.timers.filter((each) => each !== timer);
    };
    advance(ms: number): void {
      this.nowMs += ms;
      const due = this.timers.filter(({ atMs }) => atMs <= this.nowMs);
      this.timers = this.timers.filter(({ atMs }) => atMs > this.nowMs);
      for (const { run } of due) run();
    }
  }

  it('loads once for many changes, soon, and then not too often', () => {
    const clock = new FakeClock();
    let loads = 0;
    const reload = new QuietReload(clock, () => (loads += 1));
    for (let change = 0; change < 20; change += 1) reload.ask();
    clock.advance(250);
    assert.equal(loads, 1);
    reload.ask();
    clock.advance(1_000);
    assert.equal(loads, 1);
    clock.advance(1_000);
    assert.equal(loads, 2);
  });

  it('loads nothing once it is stopped', () => {
    const clock = new FakeClock();
    let loads = 0;
    const reload = new QuietReload(clock, () => (loads += 1));
    reload.ask();
    reload.stop();
    clock.advance(10_000);
    assert.equal(loads, 0);
  });
});
