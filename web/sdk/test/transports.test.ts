import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EventReader } from '../src/transports/sse.js';
import { blocking, TestClient } from './test_client.js';
import { problem } from './server.js';

const MINUTE_MS = 60_000;
const TRANSPORTS = ['websocket', 'sse', 'long-poll', 'poll'] as const;

test('a WebSocket is opened with a ticket, from the cursor of the inbox', async () => {
  const chat = new TestClient();
  chat.server.write('before');
  await chat.connect();
  const [socket] = chat.server.sockets;
  assert.equal(socket?.url.href, 'ws://greenroom.test/v1/ws?since=e-1&ticket=ticket-1');
  assert.deepEqual(chat.client.connection, { state: 'live', transport: 'websocket' });
});

test('every transport tells the same, once and in order', async () => {
  for (const transport of TRANSPORTS) {
    const chat = new TestClient({ transports: [transport] });
    chat.server.page = 3;
    await chat.connect();
    for (let number = 0; number < 8; number += 1) chat.server.write(`n${number}`);
    await chat.clock.advance(3_000);
    assert.equal(chat.heard.join(), 'n0,n1,n2,n3,n4,n5,n6,n7', transport);
    assert.equal(chat.client.connection.transport, transport);
    assert.equal(chat.client.connection.state, transport === 'poll' ? 'polling' : 'live');
    await chat.client.close();
  }
});

test('where sockets do not open though the server answers, a stream takes over', async () => {
  const chat = new TestClient();
  chat.server.takesSockets = false;
  await chat.connect();
  await chat.clock.advance(1_000);
  assert.equal(chat.server.sockets.length, 2);
  assert.deepEqual(chat.ways, ['reconnecting', 'sse']);
});

test('a socket that opens but never answers does not count as open', async () => {
  const chat = new TestClient();
  chat.server.socketsAnswer = false;
  await chat.connect();
  await chat.clock.advance(21_000);
  assert.deepEqual(chat.ways, ['reconnecting', 'sse']);
});

test('what comes while a way in is looked for is told all the same', async () => {
  const chat = new TestClient();
  chat.server.socketsAnswer = false;
  chat.server.meets = ({ path }) => (path === '/v1/tickets' ? problem(404, 'NOT_FOUND') : null);
  await chat.connect();
  chat.server.write('meanwhile');
  await chat.clock.advance(1_000);
  assert.deepEqual(chat.heard, ['meanwhile']);
});

test('step by step down to plain polling', async () => {
  const chat = new TestClient();
  chat.server.takesSockets = false;
  chat.server.meets = blocking('/v1/stream', '/v1/sync?wait');
  await chat.connect();
  await chat.clock.advance(5_000);
  assert.equal(chat.client.connection.transport, 'poll');
  assert.equal(chat.client.connection.state, 'polling');
  chat.server.write('hello');
  await chat.clock.advance(3_000);
  assert.deepEqual(chat.heard, ['hello']);
});

test('a stream that is held back by a proxy does not count as open', async () => {
  const chat = new TestClient({ transports: ['sse', 'poll'] });
  chat.server.meets = ({ path }) => {
    const held = new Response(new ReadableStream(), {
      headers: { 'content-type': 'text/event-stream' },
    });
    return path === '/v1/stream' ? held : null;
  };
  await chat.connect();
  await chat.clock.advance(21_000);
  assert.equal(chat.client.connection.transport, 'poll');
});

test('an answer that is no stream does not count as one', async () => {
  const chat = new TestClient({ transports: ['sse', 'poll'] });
  chat.server.meets = ({ path }) => (path === '/v1/stream' ? new Response('<html>') : null);
  await chat.connect();
  await chat.clock.advance(1_000);
  assert.equal(chat.client.connection.transport, 'poll');
});

test('a long-poll that is answered at once, with nothing, gives way to polling', async () => {
  const chat = new TestClient({ transports: ['long-poll', 'poll'] });
  const empty = (): Response => Response.json({ events: [], cursor: 'e-0', has_more: false });
  chat.server.meets = ({ query }) => (query.has('wait') ? empty() : null);
  await chat.connect();
  await chat.clock.advance(10_000);
  assert.equal(chat.client.connection.transport, 'poll');
  const polls = chat.server.count('GET', '/v1/sync');
  assert.ok(polls <= 10, `${polls} requests`);
});

test('while the whole server is away no transport is blamed', async () => {
  for (const transport of TRANSPORTS) {
    const chat = new TestClient({ transports: [transport, 'poll'] });
    await chat.connect();
    chat.server.goAway();
    await chat.clock.advance(5 * MINUTE_MS);
    assert.equal(chat.client.connection.state, 'offline', transport);
    chat.server.comeBack();
    await chat.clock.advance(31_000);
    assert.equal(chat.client.connection.transport, transport);
    await chat.client.close();
  }
});

test('better transports are tried again after a while', async () => {
  const chat = new TestClient();
  chat.server.takesSockets = false;
  await chat.connect();
  await chat.clock.advance(1_000);
  chat.server.takesSockets = true;
  chat.server.write('one');
  await chat.clock.advance(5 * MINUTE_MS);
  assert.equal(chat.client.connection.transport, 'websocket');
  chat.server.write('two');
  await chat.clock.advance(0);
  assert.deepEqual(chat.heard, ['one', 'two']);
});

test('a look upwards that fails leads back, and nothing is missed or told twice', async () => {
  const chat = new TestClient();
  chat.server.takesSockets = false;
  chat.server.meets = blocking('/v1/stream');
  await chat.connect();
  const expected: string[] = [];
  for (let second = 0; second < 20 * 60; second += 10) {
    chat.server.write(`at ${second}`);
    expected.push(`at ${second}`);
    await chat.clock.advance(10_000);
  }
  assert.deepEqual(chat.heard, expected);
  assert.equal(chat.client.connection.transport, 'long-poll');
  // Two when it began, and one at each of two looks upwards.
  assert.equal(chat.server.sockets.length, 4);
});

test('a silent socket is asked, and left when it does not answer', async () => {
  const chat = new TestClient();
  await chat.connect();
  await chat.clock.advance(25_000);
  const [socket] = chat.server.sockets;
  assert.equal(socket?.said.filter((frame) => frame['type'] === 'ping').length, 2);
  chat.server.socketsAnswer = false;
  await chat.clock.advance(25_000);
  assert.equal(chat.client.connection.state, 'live');
  chat.server.socketsAnswer = true;
  await chat.clock.advance(10_000);
  await chat.clock.advance(1_000);
  assert.deepEqual(chat.ways, ['reconnecting', 'websocket', 'reconnecting', 'websocket']);
});

test('a stream without a sign for 45 s is dead; a comment is a sign', async () => {
  const chat = new TestClient({ transports: ['sse', 'poll'] });
  await chat.connect();
  const [stream] = chat.server.streams;
  for (let beat = 0; beat < 6; beat += 1) {
    await chat.clock.advance(20_000);
    stream?.beat();
  }
  await chat.clock.advance(44_999);
  assert.deepEqual(chat.ways, ['reconnecting', 'sse']);
  await chat.clock.advance(1_000);
  assert.deepEqual(chat.ways, ['reconnecting', 'sse', 'reconnecting', 'sse']);
  assert.equal(chat.server.count('GET', '/v1/stream'), 2);
});

test('an id without an event moves the place in the feed', async () => {
  const chat = new TestClient({ transports: ['sse', 'poll'] });
  await chat.connect();
  const [stream] = chat.server.streams;
  stream?.move('e-5');
  await chat.clock.advance(0);
  stream?.fail();
  await chat.clock.advance(1_000);
  const last = chat.server.asked.filter(({ path }) => path === '/v1/stream').at(-1);
  assert.equal(last?.query.get('since'), 'e-5');
});

test('events of a transport that was left are not heard', async () => {
  const chat = new TestClient();
  await chat.connect();
  const [socket] = chat.server.sockets;
  const deaf = socket?.onmessage;
  chat.client.setVisibility('closed');
  const late = chat.server.tell('receipt');
  deaf?.({ data: JSON.stringify(late) });
  assert.deepEqual(chat.events, []);
});

test('server-sent events are read however they are cut', () => {
  const text = ':\n\nid: e-1\ndata: {"a":1}\n\nevent: hello\r\ndata: {"b":2}\r\n\r\nid: e-2\n\n';
  const whole = new EventReader().read(text);
  assert.deepEqual(whole.slice(1), [
    { name: 'message', id: 'e-1', data: '{"a":1}' },
    { name: 'hello', id: '', data: '{"b":2}' },
    { name: 'message', id: 'e-2', data: '' },
  ]);
  for (let size = 1; size < 9; size += 1) {
    const reader = new EventReader();
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    assert.deepEqual(
      pieces.flatMap((piece) => reader.read(piece)),
      whole,
    );
  }
});

test('polls keep the pace of the person and stop when the chat is closed', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  await chat.connect();
  const polls = async (spanMs: number): Promise<number> => {
    const before = chat.server.asked.length;
    await chat.clock.advance(spanMs);
    return chat.server.asked.length - before;
  };
  assert.equal(await polls(MINUTE_MS), 20);
  chat.client.setVisibility('background');
  assert.equal(await polls(MINUTE_MS), 6);
  await chat.clock.advance(4 * MINUTE_MS);
  assert.equal(await polls(MINUTE_MS), 2);
  chat.client.touch();
  assert.equal(await polls(MINUTE_MS), 7);
  chat.client.setVisibility('closed');
  assert.equal(await polls(10 * MINUTE_MS), 0);
  assert.equal(chat.client.connection.state, 'closed');
  chat.client.setVisibility('open');
  assert.ok((await polls(MINUTE_MS)) >= 20);
});
