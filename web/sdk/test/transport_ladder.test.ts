import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FIRST_CLIMB_MS, Ladder, LONGEST_CLIMB_MS } from '../src/transport_ladder.js';
import { FakeClock, START_MS } from './fakes.js';

function ladder(clock = new FakeClock()): Ladder {
  return new Ladder(['websocket', 'sse', 'long-poll', 'poll'], clock);
}

test('a transport that fails to open twice gives way to the next', () => {
  const steps = ladder();
  const way = [steps.current];
  for (let failure = 0; failure < 6; failure += 1) {
    steps.failed();
    way.push(steps.current);
  }
  assert.deepEqual(way, ['websocket', 'websocket', 'sse', 'sse', 'long-poll', 'long-poll', 'poll']);
});

test('a failure in between successes is forgiven', () => {
  const steps = ladder();
  steps.failed();
  steps.opened();
  steps.failed();
  assert.equal(steps.current, 'websocket');
});

test('there is nothing below the last', () => {
  const steps = new Ladder(['poll'], new FakeClock());
  assert.deepEqual([steps.failed(), steps.failed(), steps.current], [false, false, 'poll']);
});

test('the better ones get one try each after a while, and after ever longer whiles', async () => {
  const clock = new FakeClock();
  const steps = ladder(clock);
  for (let failure = 0; failure < 4; failure += 1) steps.failed();
  steps.opened();
  let waitMs = FIRST_CLIMB_MS;
  for (let climb = 0; climb < 6; climb += 1) {
    assert.equal(steps.climbAtMs - clock.nowMs, Math.min(waitMs, LONGEST_CLIMB_MS));
    await clock.advance(waitMs);
    steps.climb();
    assert.equal(steps.current, 'websocket');
    assert.deepEqual([steps.failed(), steps.failed(), steps.current], [true, true, 'long-poll']);
    steps.opened();
    waitMs *= 2;
  }
});

test('a climb that succeeds ends where it succeeded', async () => {
  const clock = new FakeClock();
  const steps = ladder(clock);
  for (let failure = 0; failure < 6; failure += 1) steps.failed();
  steps.opened();
  steps.climb();
  steps.failed();
  steps.opened();
  assert.equal(steps.current, 'sse');
  steps.climb();
  steps.opened();
  assert.deepEqual([steps.current, steps.climbAtMs], ['websocket', Infinity]);
});

test('reconnecting below does not put off the next look upwards', async () => {
  const clock = new FakeClock();
  const steps = ladder(clock);
  steps.failed();
  steps.failed();
  steps.opened();
  await clock.advance(60_000);
  steps.opened();
  assert.equal(steps.climbAtMs, START_MS + FIRST_CLIMB_MS);
});
