import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Backoff, RetryBudget } from '../src/backoff.js';
import { Problem } from '../src/problem.js';
import { MOST_SENDS, type Send, SendQueue, type SendState } from '../src/queue.js';
import type { Message } from '../src/types.js';
import { FakeClock, settle } from './fakes.js';
import { message } from './things.js';

interface Attempt {
  send: Send;
  resolve(message: Message): void;
  reject(problem: Problem): void;
}

/** A queue whose attempts the test answers. */
class Desk {
  readonly clock = new FakeClock();
  readonly attempts: Attempt[] = [];
  readonly doubts: Problem[] = [];
  readonly states: string[] = [];
  saved: readonly Send[] = [];
  readonly queue: SendQueue;

  constructor() {
    this.queue = new SendQueue({
      clock: this.clock,
      backoff: new Backoff(() => 0.5, new RetryBudget(this.clock)),
      save: async (sends) => void (this.saved = sends),
      attempt: (send) =>
        new Promise((resolve, reject) => this.attempts.push({ send, resolve, reject })),
      doubt: (problem) => this.doubts.push(problem),
      changed: ({ clientId, state }) => this.states.push(`${clientId} ${state}`),
    });
  }

  add(clientId: string, threadId = 'thr_1'): void {
    this.queue.add({ clientId, threadId, body: clientId, queuedAtMs: 0, state: 'queued' });
  }

  get tried(): string[] {
    return this.attempts.map(({ send }) => send.clientId);
  }

  state(clientId: string): SendState | undefined {
    return this.queue.list().find((each) => each.clientId === clientId)?.state;
  }

  async answer(seq = 1): Promise<void> {
    this.attempts.at(-1)?.resolve(message(seq));
    await settle();
  }

  async refuse(status: number, retryAfterMs = 0): Promise<void> {
    const document = { status, code: `HTTP_${status}`, title: '' };
    this.attempts.at(-1)?.reject(new Problem(document, retryAfterMs));
    await settle();
  }
}

test('nothing is tried before there is a connection', async () => {
  const desk = new Desk();
  desk.add('a');
  await desk.clock.advance(600_000);
  assert.deepEqual([desk.tried, desk.state('a')], [[], 'queued']);
  desk.queue.open();
  await settle();
  assert.deepEqual([desk.tried, desk.state('a')], [['a'], 'sending']);
});

test('sends of one thread go one after the other, those of several side by side', async () => {
  const desk = new Desk();
  desk.queue.open();
  for (const id of ['a', 'b']) desk.add(id);
  desk.add('c', 'thr_2');
  await settle();
  assert.deepEqual(desk.tried, ['a', 'c']);
  desk.attempts[0]?.resolve(message(1));
  await settle();
  assert.deepEqual(desk.tried, ['a', 'c', 'b']);
});

test('a send is stored before it is tried', async () => {
  const desk = new Desk();
  desk.queue.open();
  desk.add('a');
  assert.deepEqual([desk.saved.map((each) => each.clientId), desk.tried], [['a'], []]);
});

test('a send that the server refuses has failed until it is retried or discarded', async () => {
  for (const status of [400, 403, 404, 409, 413, 422, 501]) {
    const desk = new Desk();
    desk.queue.open();
    desk.add('a');
    await settle();
    await desk.refuse(status);
    await desk.clock.advance(600_000);
    assert.deepEqual([desk.tried, desk.state('a')], [['a'], 'failed'], String(status));
    assert.equal(desk.queue.list()[0]?.problem?.status, status);
    assert.equal(desk.queue.retry('a'), true);
    await settle();
    assert.deepEqual(desk.tried, ['a', 'a']);
    assert.equal(desk.queue.list()[0]?.problem, undefined);
  }
});

test('a failed send does not hold up those behind it', async () => {
  const desk = new Desk();
  desk.queue.open();
  desk.add('a');
  desk.add('b');
  await settle();
  await desk.refuse(422);
  assert.deepEqual(desk.tried, ['a', 'b']);
});

test('what may pass is tried again, with the same id and in the same order', async () => {
  for (const status of [0, 401, 408, 425, 429, 500, 502, 503]) {
    const desk = new Desk();
    desk.queue.open();
    desk.add('a');
    desk.add('b');
    await settle();
    await desk.refuse(status);
    assert.equal(desk.state('a'), 'queued', String(status));
    await desk.clock.advance(250);
    assert.deepEqual(desk.tried, ['a', 'a'], String(status));
    await desk.answer();
    assert.deepEqual(desk.tried, ['a', 'a', 'b']);
  }
});

test('it waits as long as the server asks', async () => {
  const desk = new Desk();
  desk.queue.open();
  desk.add('a');
  await settle();
  await desk.refuse(429, 7_000);
  await desk.clock.advance(6_999);
  assert.equal(desk.attempts.length, 1);
  await desk.clock.advance(1);
  assert.equal(desk.attempts.length, 2);
});

test('after a failure one send finds out for all threads', async () => {
  const desk = new Desk();
  desk.queue.open();
  desk.add('a');
  await settle();
  await desk.refuse(503);
  desk.add('b', 'thr_2');
  desk.add('c', 'thr_3');
  await desk.clock.advance(250);
  assert.deepEqual(desk.tried, ['a', 'a']);
  await desk.answer();
  assert.deepEqual(desk.tried, ['a', 'a', 'b', 'c']);
});

test('a server that is away casts doubt on the connection, one that is busy does not', async () => {
  for (const [status, doubts] of [
    [0, 1],
    [503, 1],
    [429, 0],
    [401, 0],
    [422, 0],
  ] as const) {
    const desk = new Desk();
    desk.queue.open();
    desk.add('a');
    await settle();
    await desk.refuse(status);
    assert.equal(desk.doubts.length, doubts, String(status));
  }
});

test('a send whose connection died waits for the next, without backoff', async () => {
  const desk = new Desk();
  desk.queue.open();
  desk.add('a');
  await settle();
  desk.attempts[0]?.reject(Problem.interrupted());
  await desk.clock.advance(60_000);
  assert.deepEqual([desk.tried, desk.state('a')], [['a'], 'queued']);
  desk.queue.open();
  await settle();
  assert.deepEqual(desk.tried, ['a', 'a']);
});

test('a send that the feed tells of has happened, whatever its answer', async () => {
  const desk = new Desk();
  desk.queue.open();
  desk.add('a');
  desk.add('b');
  await settle();
  desk.queue.settle('a', message(1));
  await desk.refuse(503);
  assert.deepEqual(desk.states, ['a queued', 'a sending', 'b queued', 'a sent', 'b sending']);
  assert.deepEqual(
    desk.queue.list().map((each) => each.clientId),
    ['b'],
  );
});

test('a send can be discarded unless it is under way', async () => {
  const desk = new Desk();
  desk.add('a');
  desk.add('b');
  desk.queue.open();
  await settle();
  assert.deepEqual([desk.queue.discard('a'), desk.queue.discard('b')], [false, true]);
  await desk.answer();
  assert.deepEqual([desk.tried, desk.saved], [['a'], []]);
});

test('what an earlier page left goes first', async () => {
  const desk = new Desk();
  desk.add('new');
  const left = { threadId: 'thr_1', body: '', queuedAtMs: 0 };
  desk.queue.restore([
    { ...left, clientId: 'old', state: 'queued' },
    { ...left, clientId: 'refused', state: 'failed' },
  ]);
  desk.queue.open();
  await settle();
  await desk.answer();
  assert.deepEqual([desk.tried, desk.state('refused')], [['old', 'new'], 'failed']);
});

test('the queue has an end', () => {
  const desk = new Desk();
  for (let number = 0; number < MOST_SENDS; number += 1) desk.add(`c${number}`);
  assert.throws(() => desk.add('one more'), { code: 'QUEUE_FULL' });
});
