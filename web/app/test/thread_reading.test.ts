import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { InboxRow, Message } from '@greenroom/sdk';

import { FakeClock } from '../../sdk/test/fakes.ts';
import { Reading, SEEN_AFTER_MS } from '../src/thread/reading.ts';
import type { Loaded } from '../src/thread/timeline.ts';

const idOf = (seq: number): string => `msg_${String(seq).padStart(6, '0')}`;
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => idOf(from + index));

/** Messages of somebody else; those of `own` are the reader's. */
function loaded(from: number, to: number, own: readonly number[] = []): Loaded {
  const messages = ids(from, to).map((id, index) => {
    const seq = from + index;
    return { id, seq, author_id: own.includes(seq) ? 'maya' : 'theo', deleted_at: null } as Message;
  });
  return { messages, floor: from, hasOlder: from > 1 };
}

/** The reader's row as the server tells it. */
const row = (lastRead: number, unread_count: number): InboxRow =>
  ({ unread_count, last_read: { message_id: idOf(lastRead) } }) as InboxRow;

function reader(there: Loaded) {
  const clock = new FakeClock();
  const world = { there, read: '', changes: 0, row: null as InboxRow | null };
  const reading = new Reading(clock, {
    userId: 'maya',
    loaded: () => world.there,
    row: () => world.row,
    read: (id) => void (world.read = id),
    changed: () => void (world.changes += 1),
  });
  const countNew = (): number => world.there.messages.filter((each) => reading.isNew(each)).length;
  return { clock, world, reading, countNew };
}

test('of two hundred new messages those that were on the screen are read, one after another', async () => {
  const { clock, world, reading, countNew } = reader(loaded(1, 200));
  reading.look(ids(1, 15));
  assert.equal(countNew(), 200);
  await clock.advance(SEEN_AFTER_MS - 1);
  assert.deepEqual([countNew(), world.read], [200, '']);
  await clock.advance(1);
  assert.deepEqual([countNew(), world.read], [185, idOf(15)]);
  reading.look(ids(10, 24));
  await clock.advance(SEEN_AFTER_MS);
  assert.deepEqual([countNew(), world.read], [176, idOf(24)]);
});

test('what only flew by is not read, and neither is what comes after it', async () => {
  const { clock, world, reading, countNew } = reader(loaded(1, 60));
  reading.look(ids(1, 10));
  await clock.advance(SEEN_AFTER_MS);
  for (let first = 11; first < 50; first += 5) {
    reading.look(ids(first, first + 4));
    await clock.advance(100);
  }
  reading.look(ids(51, 60));
  await clock.advance(SEEN_AFTER_MS);
  assert.equal(world.read, idOf(10));
  assert.equal(countNew(), 40);
  reading.look(ids(11, 50));
  await clock.advance(SEEN_AFTER_MS);
  assert.deepEqual([countNew(), world.read], [0, idOf(60)]);
});

test('nothing is read while nobody looks, and looking begins anew', async () => {
  const { clock, world, reading } = reader(loaded(1, 3));
  reading.look(ids(1, 3));
  await clock.advance(SEEN_AFTER_MS - 1);
  reading.look([]);
  await clock.advance(60_000);
  assert.equal(world.read, '');
  reading.look(ids(1, 3));
  await clock.advance(SEEN_AFTER_MS - 1);
  assert.equal(world.read, '');
  await clock.advance(1);
  assert.equal(world.read, idOf(3));
});

test('where older new messages are not here yet, nothing is marked', async () => {
  const { clock, world, reading } = reader(loaded(151, 200));
  reading.known(idOf(20));
  reading.look(ids(151, 200));
  await clock.advance(SEEN_AFTER_MS);
  assert.equal(world.read, idOf(20));
  world.there = loaded(1, 200);
  reading.look(ids(21, 150));
  await clock.advance(SEEN_AFTER_MS);
  assert.equal(world.read, idOf(200));
});

test('a page of own messages since the last read is no gap, however long it is', async () => {
  const own = Array.from({ length: 60 }, (_, index) => 21 + index);
  const { clock, world, reading } = reader(loaded(33, 82, own));
  reading.known(idOf(20));
  world.row = row(20, 2);
  reading.look(ids(75, 82), true);
  await clock.advance(SEEN_AFTER_MS);
  assert.equal(world.read, idOf(82));
});

test('what is unread before a page of own messages still has to be seen', async () => {
  const own = Array.from({ length: 60 }, (_, index) => 31 + index);
  const { clock, world, reading } = reader(loaded(42, 91, own));
  reading.known(idOf(20));
  world.row = row(20, 11);
  reading.look(ids(80, 91), true);
  await clock.advance(SEEN_AFTER_MS);
  assert.equal(world.read, idOf(20));
});

test('a burst that runs through the screen is read by whoever stays at the end', async () => {
  const { clock, world, reading, countNew } = reader(loaded(1, 10));
  reading.known(idOf(10));
  reading.look(ids(1, 10), true);
  for (let last = 11; last <= 22; last += 1) {
    world.there = loaded(1, last);
    reading.look(ids(last - 9, last), true);
    await clock.advance(40);
  }
  await clock.advance(SEEN_AFTER_MS);
  assert.deepEqual([countNew(), world.read], [0, idOf(22)]);
});

test('what came above the screen at once stays new until the person has answered', async () => {
  const { clock, world, reading, countNew } = reader(loaded(1, 10));
  reading.known(idOf(10));
  reading.look(ids(1, 10), true);
  world.there = loaded(1, 22);
  reading.look(ids(13, 22), true);
  await clock.advance(SEEN_AFTER_MS);
  assert.deepEqual([countNew(), world.read], [2, idOf(10)]);
  reading.readAll();
  assert.deepEqual([countNew(), world.read], [0, idOf(22)]);
});

test('own messages need not be seen, and what another device has read is read', async () => {
  const { clock, world, reading, countNew } = reader(loaded(1, 12, [3, 4, 12]));
  reading.look(ids(1, 2));
  await clock.advance(SEEN_AFTER_MS);
  assert.equal(world.read, idOf(4));
  reading.known(idOf(8));
  assert.equal(countNew(), 3);
  reading.look(ids(9, 11));
  await clock.advance(SEEN_AFTER_MS);
  assert.equal(world.read, idOf(12));
});

test('all can be marked as read, and what comes then is new again', async () => {
  const { clock, world, reading, countNew } = reader(loaded(151, 200));
  reading.readAll();
  assert.deepEqual([countNew(), world.read], [0, idOf(200)]);
  world.there = loaded(151, 201);
  assert.equal(countNew(), 1);
  reading.look([idOf(201)]);
  await clock.advance(SEEN_AFTER_MS);
  assert.equal(world.read, idOf(201));
});
