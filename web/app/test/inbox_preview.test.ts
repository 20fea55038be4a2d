import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { LastMessage, SystemNotice } from '@greenroom/sdk';

import { type Around, plainText, previewOf, titleOf } from '../src/inbox/preview.ts';
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
  assert.equal(preview(said('Hi'), { send }), 'You: On my way');
  assert.equal(preview(said('Hi'), { send, draft }), 'So then');
  assert.equal(preview(said('Hi'), { send, draft, typing: ['maya', 'theo'] }), 'Theo is typing…');
  const both = preview(said('Hi'), { typing: ['ada', 'loft'] }, true);
  assert.equal(both, 'Ada and Mile End Loft are typing…');
  assert.equal(preview(said('Hi'), { draft: '  \n' }), 'Hi');
});

test('marks of Markdown are not shown, other signs are', () => {
  const shown: [string, string][] = [
    ['**studio as plan B**, or', 'studio as plan B, or'],
    ['*so* and _so_ and __so__', 'so and so and so'],
    ['`code` and [a link](https://example.com "x")', 'code and a link'],
    ['> quoted\n> more', 'quoted more'],
    ['- one\n- two\n1. three', 'one two three'],
    ['# Head\n\ntext', 'Head text'],
    ['```js\nlet a\n```', 'let a'],
    ['2 * 3 * 4 and snake_case_name', '2 * 3 * 4 and snake_case_name'],
    ['not \\*marked\\*', 'not *marked*'],
    ['<https://example.com>', 'https://example.com'],
    ['cut off in the **midd', 'cut off in the midd'],
    ['5 > 3 - 1', '5 > 3 - 1'],
  ];
  for (const [markdown, plain] of shown) assert.equal(plainText(markdown), plain);
});

test('long lines of marks are taken apart in time', () => {
  for (const mark of ['*', '_', '`', '[', '![](', '> ', '\\']) {
    assert.ok(plainText(mark.repeat(2_000)).length <= mark.length * 2_000);
  }
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
  assert.equal(say('booking.confirmed'), 'Booking confirmed');
  assert.match(say('booking.payment_failed', price), /payment of £450.00 failed/);
  assert.equal(say('booking.cancelled', { by: 'buyer' }), 'You cancelled the booking');
  assert.equal(say('booking.cancelled', { by: 'seller' }), 'Mile End Loft cancelled the booking');
  assert.equal(say('booking.cancelled', { by: null }), 'The booking was cancelled');
  assert.equal(say('newer.code'), 'Something changed in this conversation');
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
