import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PollInterval } from '../src/poll_interval.js';
import { FakeClock, settle } from './fakes.js';

const MINUTE_MS = 60_000;
const signal = new AbortController().signal;

test('polls come every 3 s while the chat is open and every 10 s in the background', () => {
  const pace = new PollInterval(new FakeClock());
  assert.equal(pace.intervalMs, 3_000);
  pace.setVisibility('background');
  assert.equal(pace.intervalMs, 10_000);
});

test('polls come every 30 s after five minutes in which the person did nothing', async () => {
  const clock = new FakeClock();
  const pace = new PollInterval(clock);
  await clock.advance(5 * MINUTE_MS - 1);
  assert.equal(pace.intervalMs, 3_000);
  await clock.advance(1);
  assert.equal(pace.intervalMs, 30_000);
  pace.touch();
  assert.equal(pace.intervalMs, 3_000);
});

test('who comes back does not wait out a long interval', async () => {
  const clock = new FakeClock();
  const pace = new PollInterval(clock);
  await clock.advance(6 * MINUTE_MS);
  let isDue = false;
  void pace.wait(signal).then(() => (isDue = true));
  await clock.advance(2_000);
  pace.touch();
  await settle();
  assert.equal(isDue, false);
  await clock.advance(1_000);
  assert.equal(isDue, true);
});

test('keys pressed while a poll is awaited do not bring it forward', async () => {
  const clock = new FakeClock();
  const pace = new PollInterval(clock);
  let isDue = false;
  void pace.wait(signal).then(() => (isDue = true));
  for (let key = 0; key < 29; key += 1) {
    await clock.advance(100);
    pace.touch();
  }
  await settle();
  assert.equal(isDue, false);
  await clock.advance(100);
  assert.equal(isDue, true);
});
