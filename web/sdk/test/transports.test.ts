import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EventReader } from '../src/transports/sse.js';
import { blocking, Desk } from './desk.js';
import { problem } from './server.js';

const MINUTE_MS = 60_000;
const TRANSPORTS = ['websocket', 'sse', 'long-poll', 'poll'] as const;

test('a WebSocket is opened with a ticket, from the cursor of the inbox', async () => {
  const desk = new Desk();
  desk.server.write('before');
  await desk.connect();
  const [socket] = desk.server.sockets;
  assert.equal(socket?.url.href, 'ws://greenroom.test/v1/ws?since=e-1&ticket=ticket-1');
  assert.deepEqual(desk.client.connection, { state: 'live', transport: 'websocket' });
});

test('every transport tells the same, once and in order', async () => {
  for (const transport of TRANSPORTS) {
    const desk = new Desk({ transports: [transport] });
    desk.server.page = 3;
    await desk.connect();
    for (let number = 0; number < 8; number += 1) desk.server.write(`n${number}`);
    await desk.clock.advance(3_000);
    assert.equal(desk.heard.join(), 'n0,n1,n2,n3,n4,n5,n6,n7', transport);
    assert.equal(desk.client.connection.transport, transport);
    assert.equal(desk.client.connection.state, transport === 'poll' ? 'polling' : 'live');
    await desk.client.close();
  }
});

test('where sockets do not open though the server answers, a stream takes over', async () => {
  const desk = new Desk();
  desk.server.takesSockets = false;
  await desk.connect();
  await desk.clock.advance(1_000);
  assert.equal(desk.server.sockets.length, 2);
  assert.deepEqual(desk.ways, ['reconnecting', 'sse']);
});

test('a socket that opens but never answers does not count as open', async () => {
  const desk = new Desk();
  desk.server.socketsAnswer = false;
  await desk.connect();
  await desk.clock.advance(21_000);
  assert.deepEqual(desk.ways, ['reconnecting', 'sse']);
});

test('what comes while a way in is looked for is told all the same', async () => {
  const desk = new Desk();
  desk.server.socketsAnswer = false;
  desk.server.meets = ({ path }) => (path === '/v1/tickets' ? problem(404, 'NOT_FOUND') : null);
  await desk.connect();
  desk.server.write('meanwhile');
  await desk.clock.advance(1_000);
  assert.deepEqual(desk.heard, ['meanwhile']);
});

test('step by step down to plain polling', async () => {
  const desk = new Desk();
  desk.server.takesSockets = false;
  desk.server.meets = blocking('/v1/stream', '/v1/sync?wait');
  await desk.connect();
  await desk.clock.advance(5_000);
  assert.equal(desk.client.connection.transport, 'poll');
  assert.equal(desk.client.connection.state, 'polling');
  desk.server.write('hello');
  await desk.clock.advance(3_000);
  assert.deepEqual(desk.heard, ['hello']);
});

test('a stream that is held back by a proxy does not count as open', async () => {
  const desk = new Desk({ transports: ['sse', 'poll'] });
  desk.server.meets = ({ path }) => {
    const held = new Response(new ReadableStream(), {
      headers: { 'content-type': 'text/event-stream' },
    });
    return path === '/v1/stream' ? held : null;
  };
  await desk.connect();
  await desk.clock.advance(21_000);
  assert.equal(desk.client.connection.transport, 'poll');
});

test('an answer that is no stream does not count as one', async () => {
  const desk = new Desk({ transports: ['sse', 'poll'] });
  desk.server.meets = ({ path }) => (path === '/v1/stream' ? new Response('<html>') : null);
  await desk.connect();
  await desk.clock.advance(1_000);
  assert.equal(desk.client.connection.transport, 'poll');
});

test('a long-poll that is answered at once, with nothing, gives way to polling', async () => {
  const desk = new Desk({ transports: ['long-poll', 'poll'] });
  const empty = (): Response => Response.json({ events: [], cursor: 'e-0', has_more: false });
  desk.server.meets = ({ query }) => (query.has('wait') ? empty() : null);
  await desk.connect();
  await desk.clock.advance(10_000);
  assert.equal(desk.client.connection.transport, 'poll');
  assert.ok(desk.server.asked.length < 12, `${desk.server.asked.length} requests`);
});

test('while the whole server is away no transport is blamed', async () => {
  for (const transport of TRANSPORTS) {
    const desk = new Desk({ transports: [transport, 'poll'] });
    await desk.connect();
    desk.server.goAway();
    await desk.clock.advance(5 * MINUTE_MS);
    assert.equal(desk.client.connection.state, 'offline', transport);
    desk.server.comeBack();
    await desk.clock.advance(31_000);
    assert.equal(desk.client.connection.transport, transport);
    await desk.client.close();
  }
});

test('better transports are tried again after a while', async () => {
  const desk = new Desk();
  desk.server.takesSockets = false;
  await desk.connect();
  await desk.clock.advance(1_000);
  desk.server.takesSockets = true;
  desk.server.write('one');
  await desk.clock.advance(5 * MINUTE_MS);
  assert.equal(desk.client.connection.transport, 'websocket');
  desk.server.write('two');
  await desk.clock.advance(0);
  assert.deepEqual(desk.heard, ['one', 'two']);
});

test('a look upwards that fails leads back, and nothing is missed or told twice', async () => {
  const desk = new Desk();
  desk.server.takesSockets = false;
  desk.server.meets = blocking('/v1/stream');
  await desk.connect();
  const expected: string[] = [];
  for (let second = 0; second < 20 * 60; second += 10) {
    desk.server.write(`at ${second}`);
    expected.push(`at ${second}`);
    await desk.clock.advance(10_000);
  }
  assert.deepEqual(desk.heard, expected);
  assert.equal(desk.client.connection.transport, 'long-poll');
  // Two when it began, and one at each of two looks upwards.
  assert.equal(desk.server.sockets.length, 4);
});

test('a silent socket is asked, and left when it does not answer', async () => {
  const desk = new Desk();
  await desk.connect();
  await desk.clock.advance(25_000);
  const [socket] = desk.server.sockets;
  assert.equal(socket?.said.filter((frame) => frame['type'] === 'ping').length, 2);
  desk.server.socketsAnswer = false;
  await desk.clock.advance(25_000);
  assert.equal(desk.client.connection.state, 'live');
  desk.server.socketsAnswer = true;
  await desk.clock.advance(10_000);
  await desk.clock.advance(1_000);
  assert.deepEqual(desk.ways, ['reconnecting', 'websocket', 'reconnecting', 'websocket']);
});

test('a stream without a sign for 45 s is dead; a comment is a sign', async () => {
  const desk = new Desk({ transports: ['sse', 'poll'] });
  await desk.connect();
  const [stream] = desk.server.streams;
  for (let beat = 0; beat < 6; beat += 1) {
    await desk.clock.advance(20_000);
    stream?.beat();
  }
  await desk.clock.advance(44_999);
  assert.deepEqual(desk.ways, ['reconnecting', 'sse']);
  await desk.clock.advance(1_000);
  assert.deepEqual(desk.ways, ['reconnecting', 'sse', 'reconnecting', 'sse']);
  assert.equal(desk.server.count('GET', '/v1/stream'), 2);
});

test('an id without an event moves the place in the feed', async () => {
  const desk = new Desk({ transports: ['sse', 'poll'] });
  await desk.connect();
  const [stream] = desk.server.streams;
  stream?.move('e-5');
  await desk.clock.advance(0);
  stream?.fail();
  await desk.clock.advance(1_000);
  const last = desk.server.asked.filter(({ path }) => path === '/v1/stream').at(-1);
  assert.equal(last?.query.get('since'), 'e-5');
});

test('events of a transport that was left are not heard', async () => {
  const desk = new Desk();
  await desk.connect();
  const [socket] = desk.server.sockets;
  const deaf = socket?.onmessage;
  desk.client.setVisibility('closed');
  const late = desk.server.tell('receipt');
  deaf?.({ data: JSON.stringify(late) });
  assert.deepEqual(desk.events, []);
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
  const desk = new Desk({ transports: ['poll'] });
  await desk.connect();
  const polls = async (spanMs: number): Promise<number> => {
    const before = desk.server.asked.length;
    await desk.clock.advance(spanMs);
    return desk.server.asked.length - before;
  };
  assert.equal(await polls(MINUTE_MS), 20);
  desk.client.setVisibility('background');
  assert.equal(await polls(MINUTE_MS), 6);
  await desk.clock.advance(4 * MINUTE_MS);
  assert.equal(await polls(MINUTE_MS), 2);
  desk.client.touch();
  assert.equal(await polls(MINUTE_MS), 7);
  desk.client.setVisibility('closed');
  assert.equal(await polls(10 * MINUTE_MS), 0);
  assert.equal(desk.client.connection.state, 'closed');
  desk.client.setVisibility('open');
  assert.ok((await polls(MINUTE_MS)) >= 20);
});
