import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Desk } from './desk.js';
import { problem } from './server.js';
import { AT } from './things.js';

function said(desk: Desk): string[] {
  return desk.server.said
    .filter(({ type }) => type === 'typing')
    .map(({ thread_id, on }) => `${String(thread_id)} ${on ? 'on' : 'off'}`);
}

const TYPING = { type: 'typing', thread_id: 'thr_1', user_id: 'mia', on: true, at: AT };
const ONLINE = { type: 'presence', thread_id: 'thr_1', user_id: 'mia', online: true, at: AT };

test('typing is said every four seconds, and taken back when it stops', async () => {
  const desk = new Desk();
  await desk.connect();
  for (let key = 0; key < 90; key += 1) {
    desk.client.typing('thr_1', true);
    await desk.clock.advance(100);
  }
  assert.deepEqual(said(desk), ['thr_1 on', 'thr_1 on', 'thr_1 on']);
  await desk.clock.advance(5_000);
  assert.deepEqual(said(desk).slice(3), ['thr_1 off']);
});

test('typing ends at once when the person says so, and is not taken back twice', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.client.typing('thr_1', true);
  desk.client.typing('thr_1', false);
  desk.client.typing('thr_1', false);
  await desk.clock.advance(10_000);
  assert.deepEqual(said(desk), ['thr_1 on', 'thr_1 off']);
});

test('typing ends with the message, before it', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.client.typing('thr_1', true);
  desk.client.send('thr_1', 'Hello');
  await desk.clock.advance(10_000);
  const order = desk.server.said.map(({ type }) => type).filter((type) => type !== 'ack');
  assert.deepEqual(order, ['ping', 'typing', 'typing', 'send']);
});

test('typing is said by a request where there is no socket, and not at all offline', async () => {
  const desk = new Desk({ transports: ['poll'] });
  desk.client.typing('thr_1', true);
  await desk.connect();
  assert.equal(desk.server.count('PUT', '/v1/threads/thr_1/typing'), 0);
  desk.client.typing('thr_2', true);
  await desk.clock.advance(0);
  assert.equal(desk.server.count('PUT', '/v1/threads/thr_2/typing'), 1);
});

test('who types and who is there is known while the connection lasts', async () => {
  const desk = new Desk();
  const told: string[] = [];
  desk.client.on('company', (threadId) => told.push(threadId));
  await desk.connect();
  desk.client.watch(['thr_1']);
  desk.server.whisper(TYPING);
  desk.server.whisper(ONLINE);
  assert.deepEqual(desk.client.whoTypes('thr_1'), ['mia']);
  assert.deepEqual(desk.client.whoIsOnline('thr_1'), ['mia']);
  desk.server.whisper({ ...TYPING, on: false });
  assert.deepEqual(desk.client.whoTypes('thr_1'), []);
  desk.server.breakAll();
  await desk.clock.advance(0);
  assert.deepEqual(desk.client.whoIsOnline('thr_1'), []);
  assert.deepEqual(told, ['thr_1', 'thr_1', 'thr_1', 'thr_1']);
});

test('a new connection is told what to watch', async () => {
  const desk = new Desk();
  desk.client.watch(['thr_1', 'thr_2']);
  await desk.connect();
  desk.server.breakAll();
  await desk.clock.advance(2_000);
  const watches = desk.server.said.filter(({ type }) => type === 'watch');
  assert.deepEqual(
    watches.map(({ threads }) => threads),
    [
      ['thr_1', 'thr_2'],
      ['thr_1', 'thr_2'],
    ],
  );
});

test('a stream is opened anew for other threads, from where it was', async () => {
  const desk = new Desk({ transports: ['sse'] });
  await desk.connect();
  desk.server.write('one');
  await desk.clock.advance(0);
  desk.client.watch(['thr_1', 'thr_2']);
  desk.client.watch(['thr_1', 'thr_2']);
  await desk.clock.advance(0);
  const streams = desk.server.asked.filter(({ path }) => path === '/v1/stream');
  assert.deepEqual(
    streams.map(({ query }) => query.toString()),
    ['since=e-0', 'since=e-1&watch=thr_1%2Cthr_2'],
  );
  assert.deepEqual(desk.heard, ['one']);
});

test('a watched thread that is gone does not cost the stream', async () => {
  const desk = new Desk({ transports: ['sse', 'poll'] });
  desk.server.meets = ({ query }) => (query.has('watch') ? problem(404, 'THREAD_NOT_FOUND') : null);
  desk.client.watch(['thr_gone']);
  await desk.connect();
  assert.equal(desk.client.connection.transport, 'sse');
});

test('at most fifty threads are watched', () => {
  const many = Array.from({ length: 51 }, (_, index) => `thr_${index}`);
  assert.throws(() => new Desk().client.watch(many), RangeError);
});
