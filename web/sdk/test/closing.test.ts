/** The table "How connections end" of docs/realtime.md. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Desk } from './desk.js';
import { problem } from './server.js';

async function ended(code: number, options = {}): Promise<Desk> {
  const desk = new Desk(options);
  await desk.connect();
  desk.server.sockets[0]?.hangUp(code);
  return desk;
}

/** How long until the next connection is tried. */
async function waited(desk: Desk): Promise<number> {
  const { sockets } = desk.server;
  const before = sockets.length;
  for (let ms = 0; ms < 60_000; ms += 100) {
    await desk.clock.advance(ms === 0 ? 0 : 100);
    if (sockets.length > before) return ms;
  }
  return Infinity;
}

test('what broke is opened again, with backoff, from the cursor', async () => {
  for (const code of [1000, 1001, 1006, 1011, 4408, 4999]) {
    const desk = new Desk();
    await desk.connect();
    desk.server.write('one');
    await desk.clock.advance(0);
    desk.server.sockets[0]?.hangUp(code);
    assert.ok((await waited(desk)) <= 500, String(code));
    assert.equal(desk.server.sockets[1]?.url.searchParams.get('since'), 'e-1');
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
    const desk = await ended(code);
    assert.equal(await waited(desk), Infinity);
    assert.deepEqual(desk.client.connection, { state: 'closed', transport: null, code });
  }
});

test('when the token has ended a fresh one is used', async () => {
  const desk = await ended(4401);
  assert.ok((await waited(desk)) <= 500);
  assert.equal(desk.tokensGiven, 2);
});

test('a connection that had to make room comes back with the person', async () => {
  const desk = await ended(4409);
  assert.equal(await waited(desk), Infinity);
  assert.deepEqual(desk.client.connection, { state: 'closed', transport: null, code: 4409 });
  desk.client.setVisibility('background');
  assert.equal(await waited(desk), Infinity);
  desk.client.touch();
  await desk.clock.advance(0);
  assert.equal(desk.client.connection.state, 'live');
});

test('after too many frames it is quiet for ten seconds', async () => {
  const desk = await ended(4429);
  await desk.clock.advance(0);
  desk.client.retryNow();
  assert.equal(await waited(desk), 10_000);
});

test('a stream says the same codes, and for how long to stay away', async () => {
  const desk = new Desk({ transports: ['sse'] });
  await desk.connect();
  const bye = async (close: object): Promise<void> => {
    for (const stream of desk.server.streams) stream.bye(close);
    await desk.clock.advance(0);
  };
  await bye({ code: 1012, reason: '', reconnect: true, retry_after_ms: 7_000 });
  await desk.clock.advance(6_999);
  assert.equal(desk.server.count('GET', '/v1/stream'), 1);
  await desk.clock.advance(1);
  assert.equal(desk.server.count('GET', '/v1/stream'), 2);
  await bye({ code: 4999, reason: '', reconnect: false, retry_after_ms: 0 });
  assert.deepEqual(desk.client.connection, { state: 'closed', transport: null, code: 4999 });
});

test('Retry-After is waited out, even when the page is in a hurry', async () => {
  const desk = new Desk();
  desk.server.answerWith(503, { 'retry-after': '12' });
  await desk.connect();
  assert.equal(desk.client.connection.state, 'offline');
  const before = desk.server.asked.length;
  desk.client.retryNow();
  await desk.clock.advance(11_999);
  assert.equal(desk.server.asked.length, before);
  await desk.clock.advance(1);
  assert.equal(desk.server.asked.length, before + 1);
});

test('a page that knows the network is back need not wait', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.server.goAway();
  await desk.clock.advance(60_000);
  desk.server.comeBack();
  desk.client.retryNow();
  await desk.clock.advance(0);
  assert.equal(desk.client.connection.state, 'live');
});

test('a page that knows the network is gone says so at once, whatever its socket thinks', async () => {
  const desk = new Desk();
  await desk.connect();
  assert.equal(desk.client.connection.state, 'live');
  desk.server.goAway();
  desk.client.networkLost();
  await desk.clock.advance(0);
  assert.equal(desk.client.connection.state, 'offline');
});

test('a proxy that forbids is waited out', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.server.meets = () => new Response('<html>log in first</html>', { status: 403 });
  desk.server.breakAll();
  await desk.clock.advance(60_000);
  assert.equal(desk.client.connection.state, 'offline');
  desk.server.comeBack();
  await desk.clock.advance(31_000);
  assert.equal(desk.client.connection.state, 'live');
});

test('a person whose requests are all forbidden is told so and left alone', async () => {
  const desk = new Desk();
  desk.server.meets = () => problem(403, 'FORBIDDEN');
  const connected = desk.client.connect();
  await desk.clock.advance(0);
  await assert.rejects(connected, /4403/);
  const before = desk.server.asked.length;
  await desk.clock.advance(600_000);
  assert.equal(desk.server.asked.length, before);
});
