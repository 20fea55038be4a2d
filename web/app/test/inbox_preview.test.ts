import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { LastMessage, SystemNotice } from '@greenroom/sdk';

import { type Around, previewOf, titleOf } from '../src/inbox/preview.ts';
import { noticeText } from '../src/session/notices.ts';
import { maya, person, row, said, thread } from './inbox_things.ts';

const alone: Around = { typing: [], draft: '', send: null, cards: new Map([['sign', 'Contract']]) };
const people = [
  person('maya', 'Maya Lindqvist', 'buyer'),
  person('loft', 'Mile End Loft', 'seller'),
  person('ada', 'Ada Whitcombe', 'host'),
];

function preview(last: LastMessage | null, around: Partial<Around> = {}, group = false): string {
  const one = row('a', 1, { last_message: last }, group ? { participants: people } : {});
  return previewOf(one, { ...alone, ...around }, maya).text;
}

test('a row is named by the others, also when they have left', () => {
  assert.equal(titleOf(thread('a'), maya), 'Theo Adeyemi');
  const crowd = thread('a', { participants: people });
  assert.equal(titleOf(crowd, maya), 'Mile End Loft and Ada Whitcombe');
  const gone = people.map((each) => ({ ...each, status: 'left' as const })).slice(0, 2);
  assert.equal(titleOf(thread('a', { participants: gone }), maya), 'Mile End Loft');
  assert.equal(titleOf(thread('a', { participants: people.slice(0, 1) }), maya), 'Nobody else');
});

test('what was last said: by the person, by another, by one of several', () => {
  assert.equal(preview(said('Hello')), 'Hello');
  assert.equal(preview(said('Hello', { author_id: 'maya' })), 'You: Hello');
  assert.equal(preview(said('Hello', { author_id: 'ada' }), {}, true), 'Ada: Hello');
  assert.equal(preview(said('Hello', { author_id: 'loft' }), {}, true), 'Mile End Loft: Hello');
  assert.equal(preview(null), 'No message yet');
});

test('cards are named by the catalogue, deleted messages are said to be', () => {
  assert.equal(preview(said('', { kind: 'card', card_type: 'sign' })), 'Contract');
  const unknown = said('', { kind: 'card', card_type: 'newer', author_id: 'maya' });
  assert.equal(preview(unknown), 'You: Sent a card');
  const at = '2026-11-16T10:00:00.000Z';
  assert.equal(preview(said('', { deleted_at: at })), 'Message deleted');
  assert.equal(preview(said('', { deleted_at: at, author_id: 'maya' })), 'You deleted a message');
});

test('typing comes first, then a draft, then what waits, then what was said', () => {
  const send = {
    clientId: 'c',
    threadId: 'a',
    body: 'On *my* way',
    queuedAtMs: 0,
    state: 'queued' as const,
  };
  const draft = '**So** then';
  assert.equal(preview(said('Hi'), { send }), 'You: On *my* way');
  assert.equal(preview(said('Hi'), { send, draft }), '**So** then');
  assert.equal(preview(said('Hi'), { send, draft, typing: ['maya', 'theo'] }), 'Theo is typing…');
  const both = preview(said('Hi'), { typing: ['ada', 'loft'] }, true);
  assert.equal(both, 'Ada and Mile End Loft are typing…');
  assert.equal(preview(said('Hi'), { draft: '  \n' }), 'Hi');
});

test('what the server says is shown as it is, what is not sent yet as it was typed', () => {
  const signs = '2 * 3 * 4, snake_case_name and [x](javascript:x)';
  assert.equal(preview(said(signs)), signs);
  assert.equal(preview(said(''), { draft: ' two\n\n lines ' }), 'two lines');
});

test('every notice of the server has its words', () => {
  const say = (code: string, params: SystemNotice['params'] = {}): string =>
    noticeText({ code, params }, thread('a', { participants: people }), maya);
  const price = { amount_cents: 45_000, currency: 'GBP' };
  const ada = { user_id: 'ada' };
  assert.equal(say('participant.added', ada), 'Ada Whitcombe joined the conversation');
  assert.equal(say('participant.added', { user_id: 'maya' }), 'You joined the conversation');
  assert.equal(say('participant.left', { user_id: 'ada' }), 'Ada Whitcombe left the conversation');
  assert.equal(
    say('participant.removed', { user_id: 'ada' }),
    'Ada Whitcombe was removed from the conversation',
  );
  assert.equal(say('participant.left', { user_id: 'gone' }), 'Somebody left the conversation');
  assert.equal(say('thread.promoted'), 'This conversation is now a booking');
  assert.equal(say('booking.confirmed', price), 'Booking confirmed: £450.00');
  const times = { title: 'Portraits', start: '2026-11-17T09:00:00Z', end: '2026-11-17T11:00:00Z' };
  assert.match(
    say('booking.proposed', { ...price, ...times }),
    /^Booking proposed: Portraits · .*9:00.* · £450.00$/,
  );
  assert.equal(say('booking.proposed', price), 'Booking proposed: £450.00');
  assert.equal(say('booking.confirmed'), 'Booking confirmed');
  assert.match(say('booking.payment_failed', price), /payment of £450.00 failed/);
  assert.equal(say('booking.cancelled', { by: 'buyer' }), 'You cancelled the booking');
  assert.equal(say('booking.cancelled', { by: 'seller' }), 'Mile End Loft cancelled the booking');
  assert.equal(say('booking.cancelled', { by: null }), 'The booking was cancelled');
  assert.equal(say('newer.code'), 'Something changed in this conversation');
});

test("the marketplace's own notice is shown in its words, without signs of Markdown", () => {
  const system = { code: 'marketplace', params: { code: 'sold', text: 'The lamp is *sold*.' } };
  const last = said('The lamp is sold.', { kind: 'system', author_id: null, system });
  const one = row('a', 1, { last_message: last });
  assert.deepEqual(previewOf(one, alone, maya), { kind: 'quiet', text: 'The lamp is sold.' });
  const notices = thread('a', { kind: 'system', subject: null, participants: [] });
  assert.equal(titleOf(notices, maya), 'Notices');
  assert.equal(titleOf({ ...notices, subject: 'Your listings' }, maya), 'Your listings');
});

test('a notice is shown in the list, quietly', () => {
  const system = { code: 'thread.promoted', params: {} };
  const last = said('', { kind: 'system', author_id: null, system });
  const one = row('a', 1, { last_message: last });
  assert.deepEqual(previewOf(one, alone, maya), {
    kind: 'quiet',
    text: 'This conversation is now a booking',
  });
});
