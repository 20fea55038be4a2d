import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Attachment, Message, Send, StoredFile } from '@greenroom/sdk';

import {
  around,
  daysOf,
  downwards,
  FIRST_NEW_SHOWN,
  FIRST_SHOWN,
  latest,
  type Loaded,
  MOST_SHOWN,
  NOTHING,
  opening,
  type Row,
  shownOf,
  type Span,
  upwards,
  WHOLE,
  withCard,
  withFile,
  withLive,
  withNewest,
  withOlder,
} from '../src/thread/timeline.ts';

const START_MS = Date.parse('2026-11-16T10:00:00.000Z');
const idOf = (seq: number): string => `msg_${String(seq).padStart(6, '0')}`;

function message(seq: number, more: Partial<Message> = {}): Message {
  return {
    id: idOf(seq),
    thread_id: 'thr_1',
    seq,
    author_id: 'theo',
    kind: 'text',
    body: `message ${seq}`,
    body_html: `<p>message ${seq}</p>`,
    system: null,
    attachments: [],
    reply_to: null,
    created_at: new Date(START_MS + seq * 60_000).toISOString(),
    edited_at: null,
    deleted_at: null,
    card: null,
    ...more,
  };
}

const range = (from: number, to: number): Message[] =>
  Array.from({ length: to - from + 1 }, (_, index) => message(from + index));
const page = (from: number, to: number) => ({ items: range(from, to), has_more: from > 1 });
const seqs = ({ messages }: Loaded): number[] => messages.map(({ seq }) => seq);

const viewer = { userId: 'maya', unreadAfter: null, dayKey: (at: string) => at.slice(0, 10) };
const send = (clientId: string, minutes: number, more: Partial<Send> = {}): Send => ({
  clientId,
  threadId: 'thr_1',
  body: 'hello',
  queuedAtMs: START_MS + minutes * 60_000,
  state: 'queued',
  ...more,
});
const rowsOf = (...given: Parameters<typeof daysOf>): Row[] =>
  daysOf(...given).flatMap(({ rows }) => [...rows]);

test('pages and live messages become one list', () => {
  let loaded = withNewest(NOTHING, page(51, 100));
  loaded = withOlder(loaded, page(1, 50));
  loaded = withLive(loaded, [message(101), message(101)], true);
  assert.deepEqual(seqs(loaded), seqs({ ...NOTHING, messages: range(1, 101) }));
  assert.equal(loaded.hasOlder, false);
});

test('stored messages that do not touch the newest page are not shown before a hole', () => {
  const stored = withLive(NOTHING, range(1, 20), true);
  const loaded = withNewest(stored, page(60, 109));
  assert.deepEqual(seqs(loaded)[0], 60);
  assert.equal(loaded.hasOlder, true);
  assert.equal(withLive(loaded, [message(21)], true), loaded);
});

test('stored messages that touch the newest page stay', () => {
  const stored = withLive(NOTHING, range(40, 70), true);
  const loaded = withNewest(stored, page(60, 109));
  assert.deepEqual(seqs(loaded)[0], 40);
  assert.equal(loaded.hasOlder, true);
});

test('the latest form of a message stays, whatever comes last', () => {
  const edited = message(5, { body: 'later', edited_at: '2026-11-16T11:00:00.000Z' });
  const deleted = message(5, { body: '', deleted_at: '2026-11-16T10:59:00.000Z' });
  let loaded = withLive(NOTHING, [edited], true);
  loaded = withLive(loaded, [message(5)], true);
  assert.equal(loaded.messages[0]?.body, 'later');
  loaded = withLive(withLive(loaded, [deleted], false), [edited], false);
  assert.equal(loaded.messages[0]?.deleted_at, deleted.deleted_at);
});

test('an edit of a message that is not loaded adds nothing', () => {
  const loaded = withNewest(NOTHING, page(51, 100));
  assert.equal(withLive(loaded, [message(3, { edited_at: 'x' })], false), loaded);
});

test('a card changes where its message stands, and never goes back', () => {
  const card = (version: number) =>
    ({ id: 'crd_1', message_id: idOf(2), version }) as unknown as NonNullable<Message['card']>;
  const before = withLive(NOTHING, [message(1), message(2, { kind: 'card', card: card(2) })], true);
  const after = withCard(before, card(3));
  assert.equal(after.messages[1]?.card?.version, 3);
  assert.equal(withCard(after, card(2)), after);
  assert.equal(withCard(NOTHING, card(9)), NOTHING);
});

test('in any order, each message is there once, by its place', () => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const random = randomFrom(seed);
  for (let round = 0; round < 200; round += 1) checkRound(random, `SEED=${seed} round ${round}`);
});

/** A thread grows while its view loads pages, and the feed tells things late and twice. */
function checkRound(random: () => number, at: string): void {
  const some = (most: number): number => Math.floor(random() * most);
  let size = 1 + some(200);
  const visible = new Set(range(1, 400).flatMap(({ seq }) => (random() < 0.9 ? [seq] : [])));
  const all = (from: number, to: number): Message[] =>
    range(from, to).filter(({ seq }) => visible.has(seq));
  const before = (seq: number) => {
    const items = all(1, seq - 1);
    return { items: items.slice(-50), has_more: items.length > 50 };
  };
  const told: Message[] = [];
  let loaded = withLive(NOTHING, all(1, some(size)).slice(-50), true);
  loaded = withNewest(loaded, before(size + 1));
  for (let step = 0; step < 30; step += 1) {
    const choice = some(4);
    if (choice === 0 && size < 399) {
      size += 1;
      told.push(...all(size, size));
    }
    if (choice === 1) loaded = withOlder(loaded, before(loaded.messages[0]?.seq ?? 1));
    if (choice === 2) loaded = withLive(loaded, told.slice(-some(9)), true);
    if (choice === 3) loaded = withNewest(loaded, before(size + 1));
  }
  loaded = withLive(loaded, told, true);
  assert.deepEqual(seqs(loaded), seqs({ ...NOTHING, messages: all(loaded.floor, size) }), at);
  assert.ok(loaded.hasOlder || all(1, loaded.floor - 1).length === 0, at);
}

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('what one person writes within five minutes stands together', () => {
  const own = message(10, { author_id: 'maya' });
  const rows = rowsOf([message(1), message(2), message(9), own], [], viewer);
  const places = rows.map((row) => row.type === 'message' && [row.isFirst, row.isLast, row.isOwn]);
  assert.deepEqual(places, [
    [true, false, false],
    [false, true, false],
    [true, true, false],
    [true, true, true],
  ]);
});

test('a new day begins a new group', () => {
  const late = message(1, { created_at: '2026-11-16T23:59:00.000Z' });
  const early = message(2, { created_at: '2026-11-17T00:01:00.000Z' });
  const days = daysOf([late, early], [], viewer);
  assert.deepEqual(
    days.map(({ key }) => key),
    ['2026-11-16', '2026-11-17'],
  );
  assert.ok(days.every(({ rows }) => rows[0]?.type === 'message' && rows[0].isFirst));
});

test('the line stands before the first message that is new, and breaks its group', () => {
  const rows = rowsOf(range(1, 4), [], { ...viewer, unreadAfter: idOf(2) });
  const types = rows.map(({ type }) => type);
  assert.deepEqual(types, ['message', 'message', 'unread', 'message', 'message']);
  assert.ok(rows[3]?.type === 'message' && rows[3].isFirst);
});

test('own messages are never new to oneself', () => {
  const own = range(3, 4).map((each) => ({ ...each, author_id: 'maya' }));
  const rows = rowsOf([...range(1, 2), ...own], [], { ...viewer, unreadAfter: idOf(2) });
  assert.ok(rows.every(({ type }) => type === 'message'));
});

test('a send keeps its key when it becomes a message, and is not there twice', () => {
  const waiting = rowsOf([message(1)], [send('c1', 2)], viewer);
  assert.deepEqual(
    waiting.map(({ key }) => key),
    [idOf(1), 'c1'],
  );
  const arrived = message(2, { author_id: 'maya', client_id: 'c1' });
  const after = rowsOf([message(1), arrived], [send('c1', 2)], viewer);
  assert.deepEqual(
    after.map(({ key, type }) => [key, type]),
    [
      [idOf(1), 'message'],
      ['c1', 'message'],
    ],
  );
});

test('a thread opens with what fits the screen, or at the first that is new', () => {
  const messages = range(1, 50);
  const open = (unreadAfter: string | null): number[] =>
    shownOf(messages, opening(messages, { ...viewer, unreadAfter })).map(({ seq }) => seq);
  assert.equal(open(null).length, FIRST_SHOWN);
  assert.deepEqual([open(idOf(48)).length, open(idOf(48)).at(-1)], [FIRST_SHOWN, 50]);
  // The line over the first new one needs the message before it.
  assert.equal(open(idOf(10))[0], 10);
  const [first, last] = [open(idOf(1))[0], open(idOf(1)).at(-1)];
  assert.deepEqual([first, last], [1, FIRST_NEW_SHOWN + 1]);
  assert.equal(open(idOf(10)).at(-1), 50);
  assert.deepEqual(opening(range(1, 5), viewer), WHOLE);
});

test('the page holds a bounded part of a long thread, and every part can be reached', () => {
  const messages = range(1, 1500);
  let span: Span = latest(messages);
  assert.equal(shownOf(messages, span).length, MOST_SHOWN);
  while (span.first > 0) {
    const next = upwards(messages, span);
    assert.ok(next.first < span.first);
    assert.ok(shownOf(messages, next).length <= MOST_SHOWN);
    span = next;
  }
  assert.equal(shownOf(messages, span)[0]?.seq, 1);
  while (span.last !== Infinity) {
    const next = downwards(messages, span);
    assert.ok(next.last > span.last);
    assert.ok(shownOf(messages, next).length <= MOST_SHOWN);
    span = next;
  }
  assert.equal(shownOf(messages, span).at(-1)?.seq, 1500);
  assert.ok(shownOf(messages, around(messages, idOf(700))).some(({ seq }) => seq === 700));
  assert.deepEqual(upwards(range(1, 30), WHOLE), WHOLE);
});

test('a file that has changed is shown anew where it is, and nowhere else', () => {
  const file = { id: 'fil_1', state: 'ready' } as StoredFile;
  const early = { file_id: 'fil_1', file: { ...file, state: 'processing' } } as Attachment;
  const messages = [message(1, { attachments: [early] }), message(2)];
  const loaded = withNewest(NOTHING, { items: messages, has_more: false });
  const after = withFile(loaded, file);
  assert.equal(after.messages[0]?.attachments[0]?.file, file);
  assert.equal(after.messages[1], loaded.messages[1]);
  assert.equal(withFile(loaded, { ...file, id: 'fil_2' }), loaded);
});
