/** Clients do not make an outage worse. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TransportName } from '../src/transports/transport.js';
import { TestClient } from './test_client.js';
import { chance, FakeClock } from './fakes.js';
import { FakeServer } from './server.js';

const CLIENTS = 30;
const SENDS_EVERY_MS = 5_000;
const MINUTE_MS = 60_000;
const MOST = 1.2;

/** Many people, each with a feed of their own, at the same time. */
class Crowd {
  readonly clock = new FakeClock();
  readonly desks: TestClient[];
  sends = 0;

  constructor(transport: TransportName, random: () => number) {
    this.desks = Array.from({ length: CLIENTS }, () => {
      return new TestClient({ transports: [transport], random }, new FakeServer(this.clock));
    });
  }

  /** Requests, connections and frames. */
  get asked(): number {
    return this.sum(
      ({ server }) => server.asked.length + server.sockets.length + server.said.length,
    );
  }

  sum(count: (chat: TestClient) => number): number {
    return this.desks.reduce((sum, chat) => sum + count(chat), 0);
  }

  async connect(random: () => number): Promise<void> {
    for (const chat of this.desks) {
      await chat.connect();
      await this.clock.advance(random() * 100);
    }
  }

  /** Everybody writes now and then; tells what that asked of the server. */
  async minute(): Promise<number> {
    const before = this.asked;
    for (let ms = 0; ms < MINUTE_MS; ms += SENDS_EVERY_MS) {
      for (const chat of this.desks) chat.client.send('thr_1', `at ${ms}`);
      this.sends += CLIENTS;
      await this.clock.advance(SENDS_EVERY_MS);
    }
    return this.asked - before;
  }
}

for (const transport of ['poll', 'long-poll', 'sse', 'websocket'] as const) {
  test(`a minute of 503 asks no more of a server than a good one: ${transport}`, async () => {
    const random = chance();
    const well = new Crowd(transport, random);
    await well.connect(random);
    const healthy = await well.minute();
    const ill = new Crowd(transport, random);
    await ill.connect(random);
    for (const { server } of ill.desks) {
      server.answerWith(503);
      if (transport !== 'poll') server.breakAll();
    }
    const away = await ill.minute();
    console.log(`${transport}: ${away} in a minute of 503, ${healthy} in a good one`);
    assert.ok(away <= MOST * healthy, `${(away / healthy).toFixed(2)} times as many`);
    for (const { server } of ill.desks) server.comeBack();
    await ill.clock.advance(2 * MINUTE_MS);
    assert.equal(
      ill.sum(({ server }) => server.messages.length),
      ill.sends,
    );
    assert.equal(
      ill.sum(({ client }) => client.sends().length),
      0,
    );
  });
}

test('while the server is away sends make no attempts of their own', async () => {
  const random = chance();
  const crowd = new Crowd('poll', random);
  await crowd.connect(random);
  for (const { server } of crowd.desks) server.answerWith(503);
  await crowd.minute();
  const attempts = crowd.sum(({ server }) => server.count('POST', '/v1/threads/thr_1/messages'));
  assert.ok(attempts <= CLIENTS, `${attempts} attempts of ${CLIENTS} clients`);
});

test('clients that lost the same server come back spread out', async () => {
  const random = chance();
  const crowd = new Crowd('websocket', random);
  await crowd.connect(random);
  for (const { server } of crowd.desks) server.sockets[0]?.hangUp(1012);
  const perSecond: number[] = [];
  for (let second = 0; second < 5; second += 1) {
    const before = crowd.sum(({ server }) => server.sockets.length);
    await crowd.clock.advance(1_000);
    perSecond.push(crowd.sum(({ server }) => server.sockets.length) - before);
  }
  assert.ok(Math.max(...perSecond) <= CLIENTS * 0.6, perSecond.join());
  assert.equal(
    perSecond.reduce((sum, each) => sum + each),
    CLIENTS,
  );
});
