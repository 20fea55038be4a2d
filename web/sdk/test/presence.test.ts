import assert from 'node:assert/strict';
import { test } from 'node:test';

import { blocking, TestClient } from './test_client.js';
import { chance } from './fakes.js';
import { problem } from './server.js';
import { AT } from './things.js';

function said(chat: TestClient): string[] {
  return chat.server.said
    .filter(({ type }) => type === 'typing')
    .map(({ thread_id, on }) => `${String(thread_id)} ${on ? 'on' : 'off'}`);
}

const TYPING = { type: 'typing', thread_id: 'thr_1', user_id: 'mia', on: true, at: AT };
const ONLINE = { type: 'presence', thread_id: 'thr_1', user_id: 'mia', online: true, at: AT };

test('typing is said every four seconds, and taken back when it stops', async () => {
  const chat = new TestClient();
  await chat.connect();
  for (let key = 0; key < 90; key += 1) {
    chat.client.typing('thr_1', true);
    await chat.clock.advance(100);
  }
  assert.deepEqual(said(chat), ['thr_1 on', 'thr_1 on', 'thr_1 on']);
  await chat.clock.advance(5_000);
  assert.deepEqual(said(chat).slice(3), ['thr_1 off']);
});

test('typing ends at once when the person says so, and is not taken back twice', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.client.typing('thr_1', true);
  chat.client.typing('thr_1', false);
  chat.client.typing('thr_1', false);
  await chat.clock.advance(10_000);
  assert.deepEqual(said(chat), ['thr_1 on', 'thr_1 off']);
});

test('typing ends with the message, before it', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.client.typing('thr_1', true);
  chat.client.send('thr_1', 'Hello');
  await chat.clock.advance(10_000);
  const order = chat.server.said.map(({ type }) => type).filter((type) => type !== 'ack');
  assert.deepEqual(order, ['ping', 'typing', 'typing', 'send']);
});

test('typing is said by a request where there is no socket, and not at all offline', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  chat.client.typing('thr_1', true);
  await chat.connect();
  assert.equal(chat.server.count('PUT', '/v1/threads/thr_1/typing'), 0);
  chat.client.typing('thr_2', true);
  await chat.clock.advance(0);
  assert.equal(chat.server.count('PUT', '/v1/threads/thr_2/typing'), 1);
});

test('who types and who is there is known while the connection lasts', async () => {
  const chat = new TestClient();
  const told: string[] = [];
  chat.client.on('presence', (threadId) => told.push(threadId));
  await chat.connect();
  chat.client.watch(['thr_1']);
  chat.server.whisper(TYPING);
  chat.server.whisper(ONLINE);
  assert.deepEqual(chat.client.whoTypes('thr_1'), ['mia']);
  assert.deepEqual(chat.client.whoIsOnline('thr_1'), ['mia']);
  chat.server.whisper({ ...TYPING, on: false });
  assert.deepEqual(chat.client.whoTypes('thr_1'), []);
  chat.server.breakAll();
  await chat.clock.advance(0);
  assert.deepEqual(chat.client.whoIsOnline('thr_1'), []);
  assert.deepEqual(told, ['thr_1', 'thr_1', 'thr_1', 'thr_1']);
});

test('a new connection is told what to watch', async () => {
  const chat = new TestClient();
  chat.client.watch(['thr_1', 'thr_2']);
  await chat.connect();
  chat.server.breakAll();
  await chat.clock.advance(2_000);
  const watches = chat.server.said.filter(({ type }) => type === 'watch');
  assert.deepEqual(
    watches.map(({ threads }) => threads),
    [
      ['thr_1', 'thr_2'],
      ['thr_1', 'thr_2'],
    ],
  );
});

test('a stream is opened anew for other threads, from where it was', async () => {
  const chat = new TestClient({ transports: ['sse'] });
  await chat.connect();
  chat.server.write('one');
  await chat.clock.advance(0);
  chat.client.watch(['thr_1', 'thr_2']);
  chat.client.watch(['thr_1', 'thr_2']);
  await chat.clock.advance(0);
  const streams = chat.server.asked.filter(({ path }) => path === '/v1/stream');
  assert.deepEqual(
    streams.map(({ query }) => query.toString()),
    ['since=e-0', 'since=e-1&watch=thr_1%2Cthr_2'],
  );
  assert.deepEqual(chat.heard, ['one']);
});

test('a watched thread that is gone does not cost the stream', async () => {
  const chat = new TestClient({ transports: ['sse', 'poll'] });
  chat.server.meets = ({ query }) => (query.has('watch') ? problem(404, 'THREAD_NOT_FOUND') : null);
  chat.client.watch(['thr_gone']);
  await chat.connect();
  assert.equal(chat.client.connection.transport, 'sse');
});

test('no more threads are watched than the server allows, also when it says so late', async () => {
  const chat = new TestClient();
  chat.server.limits = { watched_threads: 2 };
  chat.client.watch(['thr_1', 'thr_2', 'thr_3']);
  await chat.connect();
  await chat.clock.advance(1_000);
  assert.deepEqual(chat.server.sockets[0]?.watched, ['thr_1', 'thr_2']);
  chat.client.watch(['thr_3', 'thr_2', 'thr_1']);
  await chat.clock.advance(0);
  assert.deepEqual(chat.server.sockets[0]?.watched, ['thr_3', 'thr_2']);
});

test('the limits are asked for once, and again by the next connection where they got lost', async () => {
  const chat = new TestClient();
  chat.server.meets = blocking('/v1/limits');
  await chat.connect();
  assert.equal(chat.client.limits?.watched_threads, undefined);
  chat.server.comeBack();
  chat.server.breakAll();
  await chat.clock.advance(60_000);
  assert.equal(chat.client.limits?.watched_threads, 50);
  chat.server.breakAll();
  await chat.clock.advance(60_000);
  assert.equal(chat.server.count('GET', '/v1/limits'), 2);
});

test('a thread that is not theirs does not cost the person who is online in the others', async () => {
  const chat = new TestClient();
  chat.server.watchable = (id) => id === 'thr_1';
  chat.server.online.set('thr_1', new Set(['mia']));
  await chat.connect();
  await chat.client.rest.thread('thr_1');
  chat.client.watch(['thr_unknown', 'thr_1']);
  await chat.clock.advance(0);
  assert.deepEqual(chat.client.whoIsOnline('thr_1'), ['mia']);
});

test('a thread that is theirs a moment later is watched then', async () => {
  const chat = new TestClient();
  let isTheirs = false;
  chat.server.watchable = () => isTheirs;
  chat.server.online.set('thr_new', new Set(['mia']));
  await chat.connect();
  chat.client.watch(['thr_new']);
  await chat.clock.advance(500);
  assert.deepEqual(chat.client.whoIsOnline('thr_new'), []);
  isTheirs = true;
  await chat.clock.advance(500);
  assert.deepEqual(chat.client.whoIsOnline('thr_new'), ['mia']);
});

test('what is told of a thread that is no longer watched is not kept', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.client.watch(['thr_1']);
  chat.client.watch(['thr_2']);
  chat.server.whisper(ONLINE);
  chat.client.watch(['thr_1']);
  await chat.clock.advance(0);
  assert.deepEqual(chat.client.whoIsOnline('thr_1'), []);
});

test('whatever is refused, lost or late, in the end it is known who is online', async () => {
  const random = chance();
  const pick = (most: number): number => Math.floor(random() * most);
  for (let story = 0; story < 30; story += 1) {
    const chat = new TestClient();
    const { server, client, clock } = chat;
    const theirs = new Set(['thr_0', 'thr_1', 'thr_2']);
    server.watchable = (id) => theirs.has(id);
    let wished: string[] = [];
    await chat.connect();
    for (let step = 0; step < 25; step += 1) {
      const id = `thr_${pick(5)}`;
      const isOn = random() < 0.5;
      const deeds = [
        () =>
          client.watch(
            (wished = [0, 1, 2, 3, 4].filter(() => random() < 0.5).map((n) => `thr_${n}`)),
          ),
        () => (isOn ? theirs.add(id) : theirs.delete(id)),
        () => server.breakAll(),
        () => clock.advance(pick(3_000)),
        () => appears(chat, id, isOn),
      ];
      await deeds[pick(deeds.length)]?.();
    }
    // In the end all that the page shows is the person's own.
    for (const id of wished) theirs.add(id);
    await clock.advance(120_000);
    for (const id of wished) {
      const there = [...(server.online.get(id) ?? [])];
      assert.deepEqual(client.whoIsOnline(id), there, `story ${story}, ${id}`);
    }
    await client.close();
  }
});

/** Mia comes or goes: told to the sockets that watch the thread. */
function appears({ server }: TestClient, id: string, isOn: boolean): void {
  server.online.set(id, new Set(isOn ? ['mia'] : []));
  for (const socket of server.sockets) {
    const event = { type: 'presence', thread_id: id, user_id: 'mia', online: isOn, at: AT };
    if (socket.isOpen && socket.watched.includes(id)) socket.say(event);
  }
}
