import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Card, CardTransition, CardType, Leg, Panel, PanelTimer } from '@greenroom/sdk';

import { type Asking, consequence, isAskedFirst, sureLabel } from '../src/cards/asking.ts';
import { Attempt } from '../src/cards/attempt.ts';
import {
  actionLabel,
  creatableTypes,
  isSettling,
  movingOf,
  NO_TYPES,
  stateLabel,
  titleOf,
  toneOf,
  type Types,
} from '../src/cards/catalogue.ts';
import { legShown, nextTimer, stopwatch } from '../src/cards/coming.ts';
import { cards as words } from '../src/i18n/en/cards.ts';
import { Format } from '../src/i18n/format.ts';

function way(more: Partial<CardTransition>): CardTransition {
  return {
    action: 'accept',
    by: ['other'],
    effects: [],
    from: ['pending'],
    guard: null,
    input: null,
    label: 'Accept',
    style: 'secondary',
    to: 'accepted',
    when: [],
    ...more,
  };
}

function typeIn(language: 'en' | 'de'): CardType {
  const say = (en: string, de: string): string => (language === 'en' ? en : de);
  const state = (name: string, label: string, more: object = {}): CardType['states'][number] => ({
    state: name,
    label,
    open: false,
    final: true,
    turn: [],
    ...more,
  });
  return {
    type: 'tip',
    title: say('Tip', 'Trinkgeld'),
    threads: ['project'],
    create: ['buyer'],
    document: false,
    erases_payload: false,
    initial: 'pending',
    needs_leg: true,
    payload: {},
    timers: [],
    states: [
      state('pending', say('Offered', 'Angeboten'), { open: true, final: false, turn: ['other'] }),
      state('charging', say('Being charged', 'Wird abgebucht'), { open: true, final: false }),
      state('failed', say('Failed', 'Fehlgeschlagen'), {
        open: true,
        final: false,
        turn: ['buyer'],
      }),
      state('paid', say('Paid', 'Bezahlt')),
      state('declined', say('Declined', 'Abgelehnt')),
      state('withdrawn', say('Withdrawn', 'Zurückgezogen')),
    ],
    transitions: [
      way({
        to: 'charging',
        label: say('Accept and pay', 'Annehmen und zahlen'),
        style: 'primary',
        effects: ['amend', 'charge'],
      }),
      way({ to: 'paid', label: say('Accept', 'Annehmen'), style: 'primary' }),
      way({
        action: 'decline',
        to: 'declined',
        label: say('Decline', 'Ablehnen'),
        style: 'danger',
      }),
      way({ action: 'withdraw', to: 'withdrawn', label: say('Withdraw', 'Zurückziehen') }),
      way({ action: 'succeeded', from: ['charging'], by: ['server'], to: 'paid' }),
      way({ action: 'failed', from: ['charging'], by: ['server'], to: 'failed' }),
    ],
  };
}

const types: Types = {
  own: new Map([['tip', typeIn('de')]]),
  english: new Map([['tip', typeIn('en')]]),
};

function card(more: Partial<Card> = {}): Card {
  return {
    id: 'crd_1',
    thread_id: 'thr_1',
    message_id: 'msg_1',
    type: 'tip',
    state: 'pending',
    version: 1,
    payload: {},
    totals: {},
    created_by: 'maya',
    buyer: 'maya',
    seller: 'theo',
    group_id: null,
    leg_id: null,
    answers_card: null,
    waits_for: ['theo'],
    expires_at: null,
    created_at: '2026-11-16T10:00:00.000Z',
    updated_at: '2026-11-16T10:00:00.000Z',
    available_actions: [],
    labels: { title: 'Tip', state: 'Offered' },
    ...more,
  };
}

const accept = (label: string) =>
  ({ action: 'accept', label, style: 'primary', input: null }) as const;

describe('what a card is called', () => {
  test('in the language of its reader', () => {
    assert.equal(titleOf(card(), types), 'Trinkgeld');
    assert.equal(stateLabel(card(), types), 'Angeboten');
  });

  test('by its own labels where the catalogue does not know it', () => {
    assert.equal(titleOf(card(), NO_TYPES), 'Tip');
    assert.equal(stateLabel(card(), NO_TYPES), 'Offered');
    assert.equal(actionLabel(card(), accept('Accept'), NO_TYPES), 'Accept');
  });

  test('two ways of one action keep their own labels', () => {
    assert.equal(actionLabel(card(), accept('Accept'), types), 'Annehmen');
    assert.equal(actionLabel(card(), accept('Accept and pay'), types), 'Annehmen und zahlen');
    assert.equal(movingOf(card(), accept('Accept'), types), null);
    assert.equal(movingOf(card(), accept('Accept and pay'), types), 'charge');
  });
});

describe('how a state feels', () => {
  const feelings: [string, string[], string, string][] = [
    ['pending', ['theo'], 'theo', 'yours'],
    ['pending', ['theo'], 'maya', 'waiting'],
    ['charging', [], 'maya', 'running'],
    ['failed', ['maya'], 'maya', 'bad'],
    ['paid', [], 'maya', 'good'],
    ['declined', [], 'maya', 'bad'],
    ['withdrawn', [], 'maya', 'over'],
    ['gone_from_the_catalogue', [], 'maya', 'over'],
  ];
  for (const [state, waits_for, reader, tone] of feelings) {
    test(`${state} for ${reader} is ${tone}`, () => {
      assert.equal(toneOf(card({ state, waits_for }), types, reader), tone);
    });
  }

  test('a payment that is under way is one that only the server ends', () => {
    assert.equal(isSettling(card({ state: 'charging' }), types), true);
    assert.equal(isSettling(card(), types), false);
  });
});

describe('what somebody may make', () => {
  test('follows the catalogue', () => {
    const makes = (kind: string, role: string, hasBooking: boolean): number =>
      creatableTypes(types, { kind, role, hasBooking }).length;
    assert.equal(makes('project', 'buyer', true), 1);
    assert.equal(makes('project', 'seller', true), 0);
    assert.equal(makes('inquiry', 'buyer', true), 0);
    assert.equal(makes('project', 'buyer', false), 0);
  });
});

describe('money is asked for with its sum', () => {
  const asking = (userId: string, more: Partial<Asking> = {}): Asking => ({
    card: card({ totals: { total_cents: 9150, currency: 'GBP' } }),
    action: accept('Accept and pay'),
    types: { own: types.english, english: types.english },
    words,
    format: new Format('en-GB'),
    userId,
    buyer: 'Maya',
    ...more,
  });

  test('of the one who pays', () => {
    assert.equal(sureLabel(asking('maya')), 'Pay £91.50');
    assert.equal(consequence(asking('maya')), '£91.50 will be charged to you now.');
  });

  test('of another, with the name of the one who pays', () => {
    assert.equal(sureLabel(asking('theo')), 'Accept and pay');
    assert.equal(consequence(asking('theo')), 'Maya will be charged £91.50 now.');
  });

  test('also where the catalogue could not be loaded', () => {
    assert.equal(isAskedFirst(asking('maya', { types: NO_TYPES })), true);
    assert.equal(isAskedFirst(asking('maya', { action: accept('Accept') })), false);
  });
});

describe('a deed', () => {
  test('has one key for all its tries, and a new one when it is another', () => {
    let made = 0;
    const attempt = new Attempt(() => `key-${(made += 1)}`);
    assert.equal(attempt.keyFor({ action: 'accept', version: 1 }), 'key-1');
    assert.equal(attempt.keyFor({ action: 'accept', version: 1 }), 'key-1');
    assert.equal(attempt.keyFor({ action: 'accept', version: 2 }), 'key-2');
    attempt.answered();
    assert.equal(attempt.keyFor({ action: 'accept', version: 2 }), 'key-3');
  });
});

describe('what comes next in a booking', () => {
  const leg = (id: string, state: Leg['state'] = 'confirmed'): Leg =>
    ({ id, state, start: '2026-11-20T10:00:00.000Z', end: '2026-11-20T14:00:00.000Z' }) as Leg;
  const timer = (kind: PanelTimer['kind'], at: string, leg_id = 'leg_1'): PanelTimer => ({
    kind,
    at,
    leg_id,
    card_id: null,
  });
  const panel = (legs: Leg[], timers: PanelTimer[], leg_id: string | null = null): Panel =>
    ({ tabs: [], leg_id, timers, booking: { legs } }) as unknown as Panel;
  const nowMs = Date.parse('2026-11-19T10:00:00.000Z');
  const starts = timer('leg_starts', '2026-11-20T10:00:00.000Z');
  const ends = timer('leg_ends', '2026-11-20T14:00:00.000Z');

  test('the thread’s own leg is shown, else the first that is not over', () => {
    assert.equal(legShown(panel([leg('leg_1'), leg('leg_2')], [], 'leg_2'))?.id, 'leg_2');
    assert.equal(legShown(panel([leg('leg_1', 'cancelled'), leg('leg_2')], []))?.id, 'leg_2');
    assert.equal(legShown({ tabs: [], leg_id: null, timers: [], booking: null }), null);
  });

  test('the first of what is to come, and the end once it has begun', () => {
    const all = panel([leg('leg_1')], [ends, starts]);
    assert.equal(nextTimer(all, leg('leg_1'), nowMs), starts);
    assert.equal(nextTimer(all, leg('leg_1'), Date.parse(starts.at)), ends);
    assert.equal(nextTimer(all, leg('leg_1'), Date.parse(ends.at)), null);
  });

  test('another leg’s times are not this one’s', () => {
    const other = timer('leg_starts', '2026-11-19T11:00:00.000Z', 'leg_2');
    assert.equal(nextTimer(panel([leg('leg_1')], [other, starts]), leg('leg_1'), nowMs), starts);
  });

  test('a stopwatch counts on past an hour', () => {
    assert.equal(stopwatch(0, 59_000), '0:00:59');
    assert.equal(stopwatch(0, 3_753_999), '1:02:33');
    assert.equal(stopwatch(5_000, 0), '0:00:00');
  });
});
