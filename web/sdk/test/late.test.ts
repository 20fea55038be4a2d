/** Answers that are older than what the feed has told by the time they come. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { memoryStorage, type Storage } from '../src/storage.js';
import { TestClient } from './test_client.js';
import { type Asked, type FakeServer, json, problem } from './server.js';
import { card, event, message, messageId, row, thread } from './things.js';

/** Answers of `path` are computed at once and come when the returned function is called. */
function holdBack(server: FakeServer, path: string, answer: () => unknown): () => void {
  let letGo = (): void => {};
  const gate = new Promise<void>((resolve) => (letGo = resolve));
  const before = server.meets;
  server.meets = (asked: Asked) => {
    if (asked.path !== path) return before(asked);
    const computed = JSON.stringify(answer());
    return gate.then(() => json(JSON.parse(computed)));
  };
  return () => {
    server.meets = before;
    letGo();
  };
}

const page = (server: FakeServer, ...items: object[]): object => ({
  items,
  has_more: false,
  sync_cursor: server.cursor,
});

const MESSAGES = '/v1/threads/thr_1/messages';

test('a message that is edited while its page is under way is shown as edited', async () => {
  const chat = new TestClient();
  await chat.connect();
  const letGo = holdBack(chat.server, MESSAGES, () => page(chat.server, message(1)));
  const asked = chat.client.rest.messages('thr_1');
  await chat.clock.advance(0);
  const edited = message(1, { body: 'better', edited_at: '2027-01-15T08:01:00.000Z' });
  chat.server.tell('message.edited', { message: edited });
  letGo();
  assert.deepEqual((await asked).items, [edited]);
  assert.deepEqual(chat.shown, ['better']);
});

test('a card that moves on while an older page is under way is shown as it is', async () => {
  const chat = new TestClient();
  await chat.connect();
  const old = message(1, { kind: 'card', card: card(1) });
  const letGo = holdBack(chat.server, MESSAGES, () => page(chat.server, old));
  const asked = chat.client.rest.messages('thr_1', { before: messageId(2) });
  await chat.clock.advance(0);
  chat.server.tell('card.changed', { card: card(1, { version: 2 }) });
  letGo();
  assert.equal((await asked).items[0]?.card?.version, 2);
});

test('a page of one thread is kept though another thread is left meanwhile', async () => {
  const chat = new TestClient();
  await chat.connect();
  const letGo = holdBack(chat.server, MESSAGES, () => page(chat.server, message(1)));
  const asked = chat.client.rest.messages('thr_1');
  await chat.clock.advance(0);
  chat.server.tell('thread.changed', { thread_id: 'thr_2' });
  letGo();
  await asked;
  assert.deepEqual(chat.shown, ['number 1']);
});

test('a page of a thread that is left meanwhile is not kept', async () => {
  const chat = new TestClient();
  await chat.connect();
  const letGo = holdBack(chat.server, MESSAGES, () => page(chat.server, message(1)));
  const asked = chat.client.rest.messages('thr_1');
  await chat.clock.advance(0);
  chat.server.tell('thread.changed');
  letGo();
  await asked;
  assert.equal(chat.client.state.threads.has('thr_1'), false);
});

test('a send that is answered after its thread was left brings nothing of it back', async () => {
  const chat = new TestClient({ transports: ['sse'] });
  await chat.connect();
  const letGo = holdBack(chat.server, MESSAGES, () => message(7, { client_id: 'c1' }));
  const { sent } = chat.client.send('thr_1', 'Hello?');
  await chat.clock.advance(0);
  chat.server.tell('thread.changed');
  await chat.clock.advance(0);
  letGo();
  await sent;
  assert.equal(chat.client.state.threads.has('thr_1'), false);
});

test('a send that is answered with a message of long ago leaves no gap after it', async () => {
  const chat = new TestClient({ transports: ['sse'] });
  await chat.connect();
  const letGo = holdBack(chat.server, MESSAGES, () => message(3, { client_id: 'c1' }));
  const { sent } = chat.client.send('thr_1', 'number 3');
  await chat.clock.advance(0);
  letGo();
  await sent;
  chat.server.tell('message.new', { message: message(9), inbox: row() });
  await chat.clock.advance(0);
  assert.deepEqual(chat.shown, ['number 9']);
});

test('a thread that was read at the place of the inbox is not asked for again', async () => {
  const chat = new TestClient();
  chat.server.write('Are you there?');
  const early = [chat.client.rest.messages('thr_1'), chat.client.rest.thread('thr_1')];
  await Promise.all([...early, chat.connect()]);
  await chat.clock.advance(0);
  assert.equal(chat.client.connection.state, 'live');
  assert.equal(chat.server.count('GET', MESSAGES), 1);
  assert.deepEqual(chat.shown, ['Are you there?']);
});

test('a thread that was left while it and the inbox loaded is forgotten', async () => {
  const chat = new TestClient();
  let answered = 0;
  const threadPage = { thread: thread('thr_9'), inbox: row('thr_9'), sync_cursor: 'e-9' };
  chat.server.meets = ({ path }) => {
    if (!path.startsWith('/v1/threads/thr_9')) return null;
    return (answered += 1) === 1 ? json(threadPage) : problem(404, 'THREAD_NOT_FOUND');
  };
  await chat.client.rest.thread('thr_9');
  assert.ok(chat.client.state.threads.has('thr_9'));
  await chat.connect();
  assert.equal(chat.client.connection.state, 'live');
  assert.equal(chat.client.state.threads.has('thr_9'), false);
});

test('rows that were read before the cursor are asked for again by whoever shows them', async () => {
  const reloads: string[] = [];
  const chat = new TestClient({ reload: () => void reloads.push('reload') });
  const archived = { thread: thread('thr_9'), inbox: row('thr_9', { placement: 'archived' }) };
  const folder = { ...page(chat.server, archived), next_cursor: null, counts: {} };
  chat.server.meets = ({ query }) => (query.has('folder') ? json(folder) : null);
  await chat.client.rest.inbox({ folder: 'archived' });
  chat.server.write('Hello?');
  await chat.connect();
  assert.deepEqual(reloads, ['reload']);
  assert.equal(chat.client.state.threads.has('thr_9'), false);
});

test('a place that was given by one page of the inbox stays though the load fails', async () => {
  const chat = new TestClient();
  let asked = 0;
  chat.server.meets = ({ path }) => {
    if (path !== MESSAGES) return null;
    asked += 1;
    if (asked === 2) chat.server.write('two');
    return asked === 2 ? Promise.reject(new TypeError('connection refused')) : null;
  };
  await chat.client.rest.messages('thr_1');
  chat.server.write('one');
  await chat.connect();
  await chat.clock.advance(60_000);
  assert.deepEqual(chat.heard, ['two']);
  assert.deepEqual(chat.shown, ['one', 'two']);
});

test('what is answered before the storage was read is not lost to it', async () => {
  const storage = memoryStorage();
  const first = new TestClient({ storage });
  await first.connect();
  await first.clock.advance(1_000);
  await first.client.close();
  let read = (_: Storage): void => {};
  const slow = new Promise<Storage>((resolve) => (read = resolve));
  const second = new TestClient({ storage: slow }, first.server);
  await second.connect();
  first.server.write('Hello?', 'thr_2');
  await second.client.rest.thread('thr_2');
  read(storage);
  await second.clock.advance(1_000);
  assert.equal(second.client.state.threads.get('thr_2')?.thread?.id, 'thr_2');
});

test('what was stored without a place in the feed is not trusted', async () => {
  const storage = memoryStorage();
  const known = { thread: thread('thr_9'), inbox: row('thr_9'), messages: [], marks: {} };
  await storage.set('ben.thread.thr_9', JSON.stringify(known));
  const index = { form: 2, cursor: null, isLoaded: false, threads: ['thr_9'] };
  await storage.set('ben.feed', JSON.stringify(index));
  const chat = new TestClient({ storage });
  await chat.connect();
  assert.equal(chat.client.state.threads.has('thr_9'), false);
});

test('who logs out leaves nothing behind, though a write has failed before', async () => {
  const kept = new Map<string, string>();
  let isFull = false;
  const storage: Storage = {
    get: (key) => kept.get(key) ?? null,
    set: (key, text) => {
      if (isFull && key.endsWith('feed')) throw new Error('no room');
      kept.set(key, text);
    },
    remove: (key) => void kept.delete(key),
  };
  const chat = new TestClient({ storage });
  await chat.connect();
  isFull = true;
  chat.server.write('Hello?');
  await chat.clock.advance(1_000);
  isFull = false;
  await chat.client.forget();
  assert.deepEqual([...kept.keys()], []);
});

test('of a thread that is left nothing stays stored, whatever the page before did', async () => {
  const kept = new Map<string, string>();
  let isAlive = true;
  const storage: Storage = {
    get: (key) => kept.get(key) ?? null,
    set: async (key, text) => {
      // The page dies when its threads are written and its place is not.
      if (!isAlive || (key === 'ben.feed' && kept.has('ben.thread.thr_2'))) {
        isAlive = false;
        await new Promise(() => {});
      }
      kept.set(key, text);
    },
    remove: (key) => void kept.delete(key),
  };
  const first = new TestClient({ storage });
  await first.connect();
  await first.clock.advance(1_000);
  first.server.write('Hello?', 'thr_2');
  await first.clock.advance(1_000);
  assert.ok(kept.has('ben.thread.thr_2'));
  void first.client.close();
  const plain = { ...storage, set: (key: string, text: string) => void kept.set(key, text) };
  first.server.feed.splice(0);
  first.server.tell('thread.changed', event('thread.changed', { thread_id: 'thr_2' }));
  const second = new TestClient({ storage: plain }, first.server);
  await second.connect();
  await second.clock.advance(1_000);
  assert.equal(kept.has('ben.thread.thr_2'), false);
});
