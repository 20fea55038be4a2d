/** The table "How connections end" of docs/realtime.md. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TestClient } from './test_client.js';
import { problem } from './server.js';

async function ended(code: number, options = {}): Promise<TestClient> {
  const chat = new TestClient(options);
  await chat.connect();
  chat.server.sockets[0]?.hangUp(code);
  return chat;
}

/** How long until the next connection is tried. */
async function waited(chat: TestClient): Promise<number> {
  const { sockets } = chat.server;
  const before = sockets.length;
  for (let ms = 0; ms < 60_000; ms += 100) {
    await chat.clock.advance(ms === 0 ? 0 : 100);
    if (sockets.length > before) return ms;
  }
  return Infinity;
}

test('what broke is opened again, with backoff, from the cursor', async () => {
  for (const code of [1000, 1001, 1006, 1011, 4408, 4999]) {
    const chat = new TestClient();
    await chat.connect();
    chat.server.write('one');
    await chat.clock.advance(0);
    chat.server.sockets[0]?.hangUp(code);
    assert.ok((await waited(chat)) <= 500, String(code));
    assert.equal(chat.server.sockets[1]?.url.searchParams.get('since'), 'e-1');
  }
});

test('after a restart clients come back over five seconds', async () => {
  const waits = [];
  for (const random of [0, 0.5, 0.99]) {
    waits.push(await waited(await ended(1012, { random: () => random })));
  }
  assert.deepEqual(waits, [0, 2_500, 5_000]);
});

test('a client that sent nonsense, or is not welcome, stays away', async () => {
  for (const code of [4400, 4403]) {
    const chat = await ended(code);
    assert.equal(await waited(chat), Infinity);
    assert.deepEqual(chat.client.connection, { state: 'closed', transport: null, code });
  }
});

test('when the token has ended a fresh one is used', async () => {
  const chat = await ended(4401);
  assert.ok((await waited(chat)) <= 500);
  assert.equal(chat.tokensGiven, 2);
});

test('a connection that had to make room comes back with the person', async () => {
  const chat = await ended(4409);
  assert.equal(await waited(chat), Infinity);
  assert.deepEqual(chat.client.connection, { state: 'closed', transport: null, code: 4409 });
  chat.client.setVisibility('background');
  assert.equal(await waited(chat), Infinity);
  chat.client.touch();
  await chat.clock.advance(0);
  assert.equal(chat.client.connection.state, 'live');
});

test('after too many frames it is quiet for ten seconds', async () => {
  const chat = await ended(4429);
  await chat.clock.advance(0);
  chat.client.retryNow();
  assert.equal(await waited(chat), 10_000);
});

test('an event that cannot be read is asked for again within a minute', async () => {
  const wait = await waited(await ended(4500));
  assert.ok(wait > 0 && wait <= 60_000, String(wait));
});

test('a stream says the same codes, and for how long to stay away', async () => {
  const chat = new TestClient({ transports: ['sse'] });
  await chat.connect();
  const bye = async (close: object): Promise<void> => {
    for (const stream of chat.server.streams) stream.bye(close);
    await chat.clock.advance(0);
  };
  await bye({ code: 1012, reason: '', reconnect: true, retry_after_ms: 7_000 });
  await chat.clock.advance(6_999);
  assert.equal(chat.server.count('GET', '/v1/stream'), 1);
  await chat.clock.advance(1);
  assert.equal(chat.server.count('GET', '/v1/stream'), 2);
  await bye({ code: 4999, reason: '', reconnect: false, retry_after_ms: 0 });
  assert.deepEqual(chat.client.connection, { state: 'closed', transport: null, code: 4999 });
});

test('Retry-After is waited out, even when the page is in a hurry', async () => {
  const chat = new TestClient();
  chat.server.answerWith(503, { 'retry-after': '12' });
  await chat.connect();
  assert.equal(chat.client.connection.state, 'offline');
  const before = chat.server.asked.length;
  chat.client.retryNow();
  await chat.clock.advance(11_999);
  assert.equal(chat.server.asked.length, before);
  await chat.clock.advance(1);
  assert.equal(chat.server.asked.length, before + 1);
});

test('a page that knows the network is back need not wait', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.server.goAway();
  await chat.clock.advance(60_000);
  chat.server.comeBack();
  chat.client.retryNow();
  await chat.clock.advance(0);
  assert.equal(chat.client.connection.state, 'live');
});

test('a page that knows the network is gone says so at once, whatever its socket thinks', async () => {
  const chat = new TestClient();
  await chat.connect();
  assert.equal(chat.client.connection.state, 'live');
  chat.server.goAway();
  chat.client.networkLost();
  await chat.clock.advance(0);
  assert.equal(chat.client.connection.state, 'offline');
});

test('a proxy that forbids is waited out', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.server.meets = () => new Response('<html>log in first</html>', { status: 403 });
  chat.server.breakAll();
  await chat.clock.advance(60_000);
  assert.equal(chat.client.connection.state, 'offline');
  chat.server.comeBack();
  await chat.clock.advance(31_000);
  assert.equal(chat.client.connection.state, 'live');
});

test('a person whose requests are all forbidden is told so and left alone', async () => {
  const chat = new TestClient();
  chat.server.meets = () => problem(403, 'FORBIDDEN');
  const connected = chat.client.connect();
  await chat.clock.advance(0);
  await assert.rejects(connected, /4403/);
  const before = chat.server.asked.length;
  await chat.clock.advance(600_000);
  assert.equal(chat.server.asked.length, before);
});
