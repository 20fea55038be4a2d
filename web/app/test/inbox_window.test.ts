import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isNearEnd, scrollToMeet, scrollToSee, shiftOf, spanOf } from '../src/inbox/window.ts';
import { watch, type Watching } from '../src/session/watching.ts';

const sight = { scrollTop: 0, height: 700, rowHeight: 70 };

test('of ten thousand rows only those near the window are drawn', () => {
  assert.deepEqual(spanOf(sight, 10_000), { from: 0, to: 16 });
  assert.deepEqual(spanOf({ ...sight, scrollTop: 70_000 }, 10_000), { from: 994, to: 1_016 });
  assert.deepEqual(spanOf({ ...sight, scrollTop: 699_300 }, 10_000), { from: 9_984, to: 10_000 });
  assert.deepEqual(spanOf({ ...sight, scrollTop: -40 }, 3), { from: 0, to: 3 });
  assert.deepEqual(spanOf({ ...sight, scrollTop: 9_999 }, 3), { from: 3, to: 3 });
});

test('the next page is asked for before the end is seen', () => {
  assert.equal(isNearEnd({ from: 0, to: 16 }, 100), false);
  assert.equal(isNearEnd({ from: 44, to: 64 }, 100), true);
});

test('what most rows did is what the list did', () => {
  const now = ['new', 'c', 'a', 'b', 'd', 'e'];
  const find = (id: string): number => now.indexOf(id);
  assert.equal(shiftOf(['a', 'b', 'c', 'd'], 0, find), 2);
  assert.equal(shiftOf(['b', 'd', 'e'], 3, find), 0);
  assert.equal(shiftOf(['gone'], 3, find), 0);
});

test('a row is brought into view with as little movement as possible', () => {
  assert.equal(scrollToSee(sight, 5), 0);
  assert.equal(scrollToSee(sight, 10), 70);
  assert.equal(scrollToSee({ ...sight, scrollTop: 1_000 }, 3), 210);
});

test('a row that was opened from elsewhere comes into the middle, unless it is seen', () => {
  assert.equal(scrollToMeet(sight, 5), 0);
  assert.equal(
    scrollToMeet(sight, 30),
    30 * sight.rowHeight - (sight.height - sight.rowHeight) / 2,
  );
  assert.equal(scrollToMeet({ ...sight, scrollTop: 1_000 }, 0), 0);
});

test('the open thread is watched first, then those of the list, each once', () => {
  const watched: (readonly string[])[] = [];
  const session: Watching = { client: { watch: (ids) => void watched.push(ids) } };
  const many = Array.from({ length: 5 }, (_, n) => `t${n}`);
  const [list, thread] = [{}, {}];
  watch(session, list, 'inbox', many);
  watch(session, thread, 'thread', ['open', 't3']);
  assert.deepEqual(watched[0], many);
  assert.deepEqual(watched[1], ['open', 't3', 't0', 't1', 't2', 't4']);
  watch(session, list, 'inbox', []);
  assert.deepEqual(watched[2], ['open', 't3']);
});
