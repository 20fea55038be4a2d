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
class TestClient {
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

  async refuse(status: number, retryAfterMs = 0, more: object = {}): Promise<void> {
    const document = { status, code: `HTTP_${status}`, title: '', ...more };
    this.attempts.at(-1)?.reject(new Problem(document, retryAfterMs));
    await settle();
  }
}

test('nothing is tried before there is a connection', async () => {
  const chat = new TestClient();
  chat.add('a');
  await chat.clock.advance(600_000);
  assert.deepEqual([chat.tried, chat.state('a')], [[], 'queued']);
  chat.queue.open();
  await settle();
  assert.deepEqual([chat.tried, chat.state('a')], [['a'], 'sending']);
});

test('sends of one thread go one after the other, those of several side by side', async () => {
  const chat = new TestClient();
  chat.queue.open();
  for (const id of ['a', 'b']) chat.add(id);
  chat.add('c', 'thr_2');
  await settle();
  assert.deepEqual(chat.tried, ['a', 'c']);
  chat.attempts[0]?.resolve(message(1));
  await settle();
  assert.deepEqual(chat.tried, ['a', 'c', 'b']);
});

test('a send is stored before it is tried', async () => {
  const chat = new TestClient();
  chat.queue.open();
  chat.add('a');
  assert.deepEqual([chat.saved.map((each) => each.clientId), chat.tried], [['a'], []]);
});

test('a send that the server refuses has failed until it is retried or discarded', async () => {
  for (const status of [400, 403, 404, 409, 413, 422, 501]) {
    const chat = new TestClient();
    chat.queue.open();
    chat.add('a');
    await settle();
    await chat.refuse(status);
    await chat.clock.advance(600_000);
    assert.deepEqual([chat.tried, chat.state('a')], [['a'], 'failed'], String(status));
    assert.equal(chat.queue.list()[0]?.problem?.status, status);
    assert.equal(chat.queue.retry('a'), true);
    await settle();
    assert.deepEqual(chat.tried, ['a', 'a']);
    assert.equal(chat.queue.list()[0]?.problem, undefined);
  }
});

test('a failed send does not hold up those behind it', async () => {
  const chat = new TestClient();
  chat.queue.open();
  chat.add('a');
  chat.add('b');
  await settle();
  await chat.refuse(422);
  assert.deepEqual(chat.tried, ['a', 'b']);
});

test('what may pass is tried again, with the same id and in the same order', async () => {
  for (const status of [0, 401, 408, 425, 429, 500, 502, 503]) {
    const chat = new TestClient();
    chat.queue.open();
    chat.add('a');
    chat.add('b');
    await settle();
    await chat.refuse(status);
    assert.equal(chat.state('a'), 'queued', String(status));
    await chat.clock.advance(250);
    assert.deepEqual(chat.tried, ['a', 'a'], String(status));
    await chat.answer();
    assert.deepEqual(chat.tried, ['a', 'a', 'b']);
  }
});

test('it waits as long as the server asks', async () => {
  const chat = new TestClient();
  chat.queue.open();
  chat.add('a');
  await settle();
  await chat.refuse(429, 7_000);
  await chat.clock.advance(6_999);
  assert.equal(chat.attempts.length, 1);
  await chat.clock.advance(1);
  assert.equal(chat.attempts.length, 2);
});

test('after a failure one send finds out for all threads', async () => {
  const chat = new TestClient();
  chat.queue.open();
  chat.add('a');
  await settle();
  await chat.refuse(503);
  chat.add('b', 'thr_2');
  chat.add('c', 'thr_3');
  await chat.clock.advance(250);
  assert.deepEqual(chat.tried, ['a', 'a']);
  await chat.answer();
  assert.deepEqual(chat.tried, ['a', 'a', 'b', 'c']);
});

test('a server that is away casts doubt on the connection, one that is busy does not', async () => {
  for (const [status, doubts] of [
    [0, 1],
    [503, 1],
    [429, 0],
    [401, 0],
    [422, 0],
  ] as const) {
    const chat = new TestClient();
    chat.queue.open();
    chat.add('a');
    await settle();
    await chat.refuse(status);
    assert.equal(chat.doubts.length, doubts, String(status));
  }
});

test('a send whose connection died waits for the next, without backoff', async () => {
  const chat = new TestClient();
  chat.queue.open();
  chat.add('a');
  await settle();
  chat.attempts[0]?.reject(Problem.interrupted());
  await chat.clock.advance(60_000);
  assert.deepEqual([chat.tried, chat.state('a')], [['a'], 'queued']);
  chat.queue.open();
  await settle();
  assert.deepEqual(chat.tried, ['a', 'a']);
});

test('a send that the feed tells of has happened, whatever its answer', async () => {
  const chat = new TestClient();
  chat.queue.open();
  chat.add('a');
  chat.add('b');
  await settle();
  chat.queue.settle('a', message(1));
  await chat.refuse(503);
  assert.deepEqual(chat.states, ['a queued', 'a sending', 'b queued', 'a sent', 'b sending']);
  assert.deepEqual(
    chat.queue.list().map((each) => each.clientId),
    ['b'],
  );
});

test('a send can be discarded unless it is under way', async () => {
  const chat = new TestClient();
  chat.add('a');
  chat.add('b');
  chat.queue.open();
  await settle();
  assert.deepEqual([chat.queue.discard('a'), chat.queue.discard('b')], [false, true]);
  await chat.answer();
  assert.deepEqual([chat.tried, chat.saved], [['a'], []]);
});

test('what an earlier page left goes first', async () => {
  const chat = new TestClient();
  chat.add('new');
  const left = { threadId: 'thr_1', body: '', queuedAtMs: 0 };
  chat.queue.restore([
    { ...left, clientId: 'old', state: 'queued' },
    { ...left, clientId: 'refused', state: 'failed' },
  ]);
  chat.queue.open();
  await settle();
  await chat.answer();
  assert.deepEqual([chat.tried, chat.state('refused')], [['old', 'new'], 'failed']);
});

test('the queue has an end', () => {
  const chat = new TestClient();
  for (let number = 0; number < MOST_SENDS; number += 1) chat.add(`c${number}`);
  assert.throws(() => chat.add('one more'), { code: 'QUEUE_FULL' });
});

test('a send waits for its uploads, and lets others pass meanwhile', async () => {
  const t = new TestClient();
  t.queue.open();
  const files = [{ uploadId: 'u1' }, { uploadId: 'u2' }, { fileId: 'fil_3' }];
  t.queue.add({
    clientId: 'a',
    threadId: 'thr_1',
    body: '',
    files,
    queuedAtMs: 0,
    state: 'queued',
  });
  t.add('b');
  await settle();
  assert.deepEqual(t.tried, ['b']);
  await t.answer();
  t.queue.uploaded('u2', 'fil_2');
  await settle();
  assert.deepEqual(t.tried, ['b']);
  t.queue.uploaded('u1', 'fil_1');
  await settle();
  assert.deepEqual(t.tried, ['b', 'a']);
  const ids = t.attempts.at(-1)?.send.files?.map(({ fileId }) => fileId);
  assert.deepEqual(ids, ['fil_1', 'fil_2', 'fil_3']);
});

test('the files that a send got are kept with it', async () => {
  const t = new TestClient();
  const files = [{ uploadId: 'u1' }];
  t.queue.add({
    clientId: 'a',
    threadId: 'thr_1',
    body: '',
    files,
    queuedAtMs: 0,
    state: 'queued',
  });
  t.queue.uploaded('u1', 'fil_1');
  assert.deepEqual(t.saved[0]?.files, [{ uploadId: 'u1', fileId: 'fil_1' }]);
});

test('an upload that was refused fails its send, which can be tried again', async () => {
  const t = new TestClient();
  t.queue.open();
  const files = [{ uploadId: 'u1' }];
  t.queue.add({
    clientId: 'a',
    threadId: 'thr_1',
    body: '',
    files,
    queuedAtMs: 0,
    state: 'queued',
  });
  t.queue.uploadFailed('u1', { status: 413, code: 'ATTACHMENT_TOO_LARGE', title: '' });
  assert.equal(t.state('a'), 'failed');
  t.queue.retry('a');
  t.queue.uploaded('u1', 'fil_1');
  await settle();
  assert.deepEqual(t.tried, ['a']);
});

test('a message goes without the file that was refused', async () => {
  const t = new TestClient();
  t.queue.open();
  const files = [{ uploadId: 'u1', fileId: 'fil_1' }, { fileId: 'fil_2' }];
  const queued = { threadId: 'thr_1', body: '', queuedAtMs: 0, state: 'queued' } as const;
  t.queue.add({ ...queued, clientId: 'a', files });
  await settle();
  const problem = { status: 409, code: 'UPLOAD_QUARANTINED', title: '', file_id: 'fil_1' };
  await t.refuse(409, 0, problem);
  assert.equal(t.state('a'), 'failed');
  assert.deepEqual(t.queue.list()[0]?.files, [{ ...files[0], problem }, files[1]]);
  assert.deepEqual(t.queue.sendWithoutRefused('a'), [{ ...files[0], problem }]);
  await settle();
  assert.deepEqual(t.attempts.at(-1)?.send.files, [files[1]]);
  // Of a message that has nothing else there is nothing to send.
  t.queue.add({ ...queued, clientId: 'b', threadId: 'thr_2', files: [{ uploadId: 'u3' }] });
  t.queue.uploadFailed('u3', problem);
  assert.deepEqual(t.queue.sendWithoutRefused('b'), []);
});
