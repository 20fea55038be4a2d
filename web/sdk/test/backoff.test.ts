import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  Backoff,
  backoffMs,
  RETRIES_AT_ONCE,
  RETRY_EVERY_MS,
  RetryBudget,
} from '../src/backoff.js';
import { chance, FakeClock } from './fakes.js';

const ALMOST_ONE = 1 - 2 ** -32;

test('a wait lies anywhere below a ceiling that doubles up to thirty seconds', () => {
  const ceilings = [0, 1, 2, 3, 4, 5, 6, 20].map((n) => Math.round(backoffMs(n, () => ALMOST_ONE)));
  assert.deepEqual(ceilings, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  assert.equal(
    backoffMs(6, () => 0),
    0,
  );
});

test('waits of many clients spread over the whole range', () => {
  const random = chance();
  const waits = Array.from({ length: 2000 }, () => backoffMs(10, random));
  for (let tenth = 0; tenth < 10; tenth += 1) {
    const inside = waits.filter((each) => Math.floor(each / 3000) === tenth).length;
    assert.ok(inside > 120, `${inside} of 2000 in tenth ${tenth}`);
  }
});

test('a server that asks for more time gets it, and one that asks for less does not matter', () => {
  const backoff = new Backoff(() => 0.5, new RetryBudget(new FakeClock()));
  assert.equal(backoff.failed(20_000), 20_000);
  assert.equal(backoff.failed(100), 500);
});

test('a success starts anew', () => {
  const backoff = new Backoff(() => 0.5, new RetryBudget(new FakeClock()));
  assert.deepEqual([backoff.failed(), backoff.failed(), backoff.isClear], [250, 500, false]);
  backoff.succeeded();
  assert.deepEqual([backoff.isClear, backoff.failed()], [true, 250]);
});

test('a connection that opens and breaks at once is not tried ever again at once', () => {
  const clock = new FakeClock();
  const backoff = new Backoff(() => 0, new RetryBudget(clock));
  let tries = 0;
  while (clock.nowMs < 1_800_000_000_000 + 10 * 60_000) {
    tries += 1;
    backoff.succeeded();
    clock.nowMs += Math.max(1, backoff.failed());
  }
  assert.ok(tries <= RETRIES_AT_ONCE + (10 * 60_000) / RETRY_EVERY_MS + 1, `${tries} tries`);
});
