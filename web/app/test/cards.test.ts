import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Card, CardTransition, CardType, Leg, Panel, PanelTimer } from '@greenroom/sdk';

import {
  type Confirmation,
  consequence,
  needsConfirmation,
  confirmLabel,
} from '../src/cards/confirmation.ts';
import { nameFor } from '../src/cards/facts.ts';
import { Attempt } from '../src/cards/attempt.ts';
import {
  actionLabel,
  isSettling,
  movingOf,
  NO_TYPES,
  stateLabel,
  titleOf,
  paysBySilence,
  toneOf,
  type Types,
} from '../src/cards/catalogue.ts';
import { legShown, nextTimer, shortTime, stopwatch } from '../src/cards/booking_timers.ts';
import { creatableTypes, menuOf } from '../src/cards/card_menu.ts';
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
    rules: [],
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
    menu: { offer: say('Give a tip', 'Trinkgeld geben'), about: '', group: 'money', likely: [] },
    threads: ['project'],
    create: ['buyer'],
    create_rules: [],
    outlives: [],
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

describe('what can be made', () => {
  type Menu = CardType['menu'];
  const type = (name: string, group: Menu['group'], likely: Menu['likely'] = []): CardType =>
    ({
      type: name,
      menu: { offer: name, about: '', group, likely },
      transitions: [{ effects: name === 'cancel' ? ['cancel_leg'] : [] }],
    }) as unknown as CardType;
  const all = [
    type('cancel', 'problems'),
    type('extras', 'money', ['confirmed']),
    type('own', 'other'),
    type('reschedule', 'time', ['confirmed']),
    type('refund', 'problems', ['cancelled']),
    type('expense', 'money'),
  ];
  const listed = (stage: Menu['likely'][number]): string[] =>
    menuOf(all, stage).map(
      ({ group, types: some }) => `${group}: ${String(some.map((each) => each.type))}`,
    );

  test('begins with what is likely as the booking stands, and ends with problems', () => {
    assert.deepEqual(listed('confirmed'), [
      'likely: extras,reschedule',
      'money: expense',
      'other: own',
      'problems: refund,cancel',
    ]);
    assert.deepEqual(listed('cancelled').at(0), 'likely: refund');
  });

  test('has no empty group, and each thing once', () => {
    const names = listed('unbooked').flatMap((line) => line.split(': ')[1]?.split(',') ?? []);
    assert.deepEqual(names.toSorted(), all.map((each) => each.type).toSorted());
    assert.equal(listed('unbooked').at(0), 'time: reschedule');
  });
});

describe('money is asked for with its sum', () => {
  const asking = (userId: string, more: Partial<Confirmation> = {}): Confirmation => ({
    card: card({ totals: { total_cents: 9150, currency: 'GBP' } }),
    action: accept('Accept and pay'),
    types: { own: types.english, english: types.english },
    words,
    format: new Format('en-GB'),
    userId,
    buyer: 'Maya',
    seller: 'Noor',
    leg: null,
    nowMs: Date.parse('2026-11-18T05:00:00Z'),
    ...more,
  });

  test('of the one who pays', () => {
    assert.equal(confirmLabel(asking('maya')), 'Pay £91.50');
    assert.equal(consequence(asking('maya')), '£91.50 will be charged to you now.');
  });

  test('and accepting work says what it pays, and that it is early', () => {
    const kept = { amount_cents: 42_000, currency: 'GBP' };
    const end = '2026-12-03T16:00:00Z';
    const done = way({ effects: ['complete_leg'], to: 'accepted', label: 'Accept the work' });
    const type = { ...types.english.get('tip'), transitions: [done] } as CardType;
    const known = { own: new Map([['tip', type]]), english: new Map([['tip', type]]) };
    const held = { amount_cents: 5_000, currency: 'GBP' };
    const leg = { end, sums: { kept, held } } as Leg;
    const early = asking('maya', { action: accept('Accept the work'), types: known, leg });
    assert.equal(needsConfirmation(early), true);
    assert.equal(
      consequence(early),
      'The booked time is not over: it ends on Thu 3 Dec. ' +
        '£420.00 goes to Noor now, and what is still open about this booking is closed. ' +
        'The deposit of £50.00 is given back.',
    );
    const late = { ...early, nowMs: Date.parse('2026-12-04T00:00:00Z') };
    assert.match(consequence(late), /^£420\.00 goes to Noor now/u);
  });

  test('and cancelling says what becomes of the deposit', () => {
    const ends = way({ effects: ['cancel_leg'], label: 'Cancel the booking', style: 'danger' });
    const type = { ...types.english.get('tip'), transitions: [ends] } as CardType;
    const known = { own: new Map([['tip', type]]), english: new Map([['tip', type]]) };
    const said = (quote: object): string =>
      consequence(
        asking('theo', {
          card: card({ totals: { quote, currency: 'GBP' } }),
          action: accept('Cancel the booking'),
          types: known,
        }),
      );
    const ended = 'The booking ends. £300.00 goes back to the buyer.';
    assert.equal(said({ refund_cents: 30_000 }), ended);
    assert.equal(
      said({ refund_cents: 30_000, deposit_cents: 5_000 }),
      `${ended} The deposit of £50.00 is given back.`,
    );
  });

  test('and silence is told with what it means', () => {
    const later = { isNear: false, text: 'Wed 25 Nov' };
    assert.equal(
      words.bySilence(later, true, 'Noor'),
      'If you do not answer by Wed 25 Nov, it counts as accepted and Noor is paid.',
    );
    assert.equal(
      words.bySilence({ isNear: true, text: '2 hours' }, false, null),
      'If nobody answers within 2 hours, it counts as accepted and you are paid.',
    );
    const silent = way({ action: 'auto_accept', by: ['server'], effects: ['complete_leg'] });
    const type = { ...types.english.get('tip'), transitions: [silent] } as CardType;
    const known = { own: new Map([['tip', type]]), english: new Map() };
    assert.equal(paysBySilence(card({}), known), true);
    assert.equal(paysBySilence(card({ state: 'accepted' }), known), false);
    assert.equal(paysBySilence(card({}), types), false);
  });

  test('of another, with the name of the one who pays', () => {
    assert.equal(confirmLabel(asking('theo')), 'Accept and pay');
    assert.equal(consequence(asking('theo')), 'Maya will be charged £91.50 now.');
  });

  test('also where the catalogue could not be loaded', () => {
    assert.equal(needsConfirmation(asking('maya', { types: NO_TYPES })), true);
    assert.equal(needsConfirmation(asking('maya', { action: accept('Accept') })), false);
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
    assert.equal(
      legShown({ tabs: [], leg_id: null, timers: [], can_make: [], booking: null, earlier: [] }),
      null,
    );
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

  test('the deadline of a card is not taken for the day of the booking', () => {
    const format = new Format('en-GB', 'UTC', () => nowMs);
    const due = { ...timer('card_expires', '2026-11-25T11:00:00.000Z', 'leg_1'), card_id: 'crd_1' };
    const booked = { ...leg('leg_1'), start: '2027-03-04T11:00:00.000Z' };
    assert.match(shortTime(format, due, booked, nowMs), /4 Mar/);
    assert.equal(shortTime(format, starts, leg('leg_1'), nowMs), format.left(starts.at, nowMs));
  });

  test('a stopwatch counts on past an hour', () => {
    assert.equal(stopwatch(0, 59_000), '0:00:59');
    assert.equal(stopwatch(0, 3_753_999), '1:02:33');
    assert.equal(stopwatch(5_000, 0), '0:00:00');
  });
});

test('the buyer is told what they pay as theirs', () => {
  const told = (userId: string): string =>
    nameFor({ words, card: card({ buyer: 'maya' }), userId }, 'buyer_payable');
  assert.equal(told('maya'), 'You pay this');
  assert.equal(told('theo'), 'The buyer pays this');
});
