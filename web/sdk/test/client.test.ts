import assert from 'node:assert/strict';
import { test } from 'node:test';

import { memoryStorage } from '../src/storage.js';
import { readClaims } from '../src/tokens.js';
import { blocking, Desk } from './desk.js';
import { FakeClock, seeded } from './fakes.js';
import { FakeServer, problem } from './server.js';
import { event } from './things.js';

const TRANSPORTS = ['websocket', 'sse', 'long-poll', 'poll'] as const;

test('a person writes, and sees it once, on every transport', async () => {
  for (const transport of TRANSPORTS) {
    const desk = new Desk({ transports: [transport] });
    await desk.connect();
    const { clientId, sent } = desk.client.send('thr_1', 'Hello');
    await desk.clock.advance(3_000);
    assert.equal((await sent).client_id, clientId);
    assert.deepEqual(desk.shown, ['Hello'], transport);
    assert.deepEqual(
      desk.sends.map(({ state }) => state),
      ['queued', 'sending', 'sent'],
    );
    assert.deepEqual([desk.heard, desk.client.sends()], [['Hello'], []]);
    assert.equal(desk.server.messages.length, 1);
    await desk.client.close();
  }
});

test('an open socket takes the sends', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.client.send('thr_1', 'Hello', { replyTo: 'msg_7' });
  await desk.clock.advance(0);
  const [frame] = desk.server.said.filter(({ type }) => type === 'send');
  const { ref, ...rest } = frame ?? {};
  assert.deepEqual(rest, {
    type: 'send',
    thread_id: 'thr_1',
    client_id: 'c1',
    body: 'Hello',
    reply_to: 'msg_7',
  });
  assert.equal(typeof ref, 'string');
  assert.equal(desk.server.count('POST', '/v1/threads/thr_1/messages'), 0);
});

test('a send whose socket dies before the answer goes out again and happens once', async () => {
  const desk = new Desk();
  await desk.connect();
  const socket = desk.server.sockets[0];
  assert.ok(socket);
  // The server takes the send, and the answer is lost with the connection.
  socket.send = (text) => {
    const frame = JSON.parse(text) as Record<string, unknown>;
    socket.isOpen = false;
    if (frame['type'] === 'send') desk.server.send('thr_1', frame);
    desk.server.takesSockets = false;
    socket.hangUp(1006);
  };
  const { sent } = desk.client.send('thr_1', 'Hello');
  await desk.clock.advance(3_000);
  assert.equal((await sent).body, 'Hello');
  assert.equal(desk.server.messages.length, 1);
  assert.deepEqual([desk.shown, desk.heard], [['Hello'], ['Hello']]);
});

test('sends made without a network arrive in order when it is back, once each', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.server.goAway();
  await desk.clock.advance(10_000);
  const asked = desk.server.count('POST', '/v1/threads/thr_1/messages');
  for (const body of ['one', 'two', 'three']) desk.client.send('thr_1', body);
  await desk.clock.advance(60_000);
  assert.equal(desk.server.count('POST', '/v1/threads/thr_1/messages'), asked);
  assert.deepEqual(
    desk.client.sends().map(({ state }) => state),
    ['queued', 'queued', 'queued'],
  );
  desk.server.comeBack();
  await desk.clock.advance(31_000);
  assert.deepEqual(
    desk.server.messages.map(({ body }) => body),
    ['one', 'two', 'three'],
  );
  assert.deepEqual(desk.shown, ['one', 'two', 'three']);
});

test('sends outlive the page: the next one sends them, under the same ids', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new Desk({ storage }, server);
  await first.connect();
  server.goAway();
  await first.clock.advance(1_000);
  first.client.send('thr_1', 'one');
  first.client.send('thr_1', 'two');
  await first.client.close();
  server.comeBack();
  const second = new Desk({ storage }, server);
  await second.connect();
  await second.clock.advance(1_000);
  const written = server.messages.map(({ client_id, body }) => `${client_id} ${body}`);
  assert.deepEqual(written, ['c1 one', 'c2 two']);
  const third = new Desk({ storage }, server);
  await third.connect();
  assert.deepEqual([third.client.sends(), server.messages.length], [[], 2]);
});

test('a send that the server refuses fails with its problem, and can be retried', async () => {
  const desk = new Desk({ transports: ['poll'] });
  await desk.connect();
  desk.server.meets = ({ method }) => (method === 'POST' ? problem(422, 'MSG_TOO_LONG') : null);
  const { clientId, sent } = desk.client.send('thr_1', 'too long');
  await desk.clock.advance(60_000);
  await assert.rejects(sent, { code: 'MSG_TOO_LONG' });
  assert.equal(desk.client.sends()[0]?.problem?.code, 'MSG_TOO_LONG');
  assert.equal(desk.server.count('POST', '/v1/threads/thr_1/messages'), 1);
  desk.server.comeBack();
  desk.client.retry(clientId);
  await desk.clock.advance(0);
  assert.deepEqual([desk.client.sends(), desk.server.messages.length], [[], 1]);
});

test('a send that is discarded is over, and one under way cannot be', async () => {
  const desk = new Desk();
  const waiting = desk.client.send('thr_1', 'never mind');
  assert.equal(desk.client.discard(waiting.clientId), true);
  await assert.rejects(waiting.sent, { code: 'DISCARDED' });
  await desk.connect();
  const going = desk.client.send('thr_1', 'Hello');
  assert.equal(desk.client.discard(going.clientId), false);
  await desk.clock.advance(0);
  assert.equal((await going.sent).body, 'Hello');
  assert.equal(desk.server.messages.length, 1);
});

test('a problem on the socket fails the send and keeps the socket', async () => {
  const desk = new Desk();
  await desk.connect();
  const [socket] = desk.server.sockets;
  assert.ok(socket);
  socket.send = (text) => {
    const { ref } = JSON.parse(text) as { ref: string };
    socket.say({
      type: 'error',
      ref,
      status: 404,
      code: 'THREAD_NOT_FOUND',
      title: 'No such thread',
    });
  };
  const { sent } = desk.client.send('thr_9', 'Hello');
  await desk.clock.advance(0);
  await assert.rejects(sent, { code: 'THREAD_NOT_FOUND', status: 404 });
  assert.equal(desk.client.connection.state, 'live');
});

test('closing the chat right after a send does not hold the send back', async () => {
  const desk = new Desk({ transports: ['poll'] });
  await desk.connect();
  desk.client.send('thr_1', 'bye');
  desk.client.setVisibility('closed');
  await desk.clock.advance(0);
  assert.deepEqual(
    desk.server.messages.map(({ body }) => body),
    ['bye'],
  );
  await desk.clock.advance(0);
  assert.equal(desk.client.connection.state, 'closed');
});

test('a chat that was closed stays connected until what waits is sent', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.server.goAway();
  desk.client.send('thr_1', 'bye');
  desk.client.setVisibility('closed');
  await desk.clock.advance(10_000);
  desk.server.comeBack();
  await desk.clock.advance(31_000);
  assert.deepEqual(
    desk.server.messages.map(({ body }) => body),
    ['bye'],
  );
  assert.equal(desk.client.connection.state, 'closed');
});

test('a send whose answer is lost is not sent again when the feed tells of it', async () => {
  const desk = new Desk({ transports: ['poll'] });
  await desk.connect();
  desk.server.meets = ({ method, body }) => {
    if (method !== 'POST') return null;
    desk.server.send('thr_1', body);
    return problem(503, 'UNAVAILABLE');
  };
  const { sent } = desk.client.send('thr_1', 'Hello');
  await desk.clock.advance(60_000);
  assert.equal((await sent).body, 'Hello');
  assert.equal(desk.server.count('POST', '/v1/threads/thr_1/messages'), 1);
});

test('what was known is there after a reload, and the feed goes on from its place', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new Desk({ storage }, server);
  await first.connect();
  server.write('one');
  await first.client.close();
  server.write('two');
  const second = new Desk({ storage, user: 'ben' }, server);
  const inboxes = server.count('GET', '/v1/inbox');
  await second.connect();
  assert.deepEqual([second.shown, second.heard], [['one', 'two'], ['two']]);
  assert.equal(server.count('GET', '/v1/inbox'), inboxes);
});

test('what was known can be shown while neither server nor token can be had', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new Desk({ storage }, server);
  await first.connect();
  server.write('one');
  await first.client.close();
  server.goAway();
  const offline = (): string => {
    throw new Error('no network');
  };
  const second = new Desk({ storage, user: 'ben', token: offline }, server);
  await second.connect();
  assert.deepEqual([second.shown, second.client.connection.state], [['one'], 'offline']);
});

test('another person on the same device sees nothing of it', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new Desk({ storage }, server);
  await first.connect();
  server.write('one');
  await first.client.close();
  const second = new Desk({ storage, user: 'mia' }, server);
  await second.connect();
  assert.deepEqual([second.shown, second.heard], [[], []]);
});

test('who logs out leaves nothing', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new Desk({ storage }, server);
  await first.connect();
  server.write('one');
  await first.client.forget();
  assert.deepEqual(first.shown, []);
  const second = new Desk({ storage }, server);
  await second.connect();
  assert.deepEqual(second.shown, []);
});

test('what comes in after the logout is not stored', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new Desk({ storage, transports: ['poll'] }, server);
  await first.connect();
  const page = first.client.rest.messages('thr_1');
  first.client.send('thr_1', 'on its way');
  await first.client.forget();
  await page;
  await first.clock.advance(60_000);
  assert.deepEqual([await storage.get('ben.sends'), await storage.get('ben.feed')], [null, null]);
});

test('where storage is forbidden everything works for as long as the page lives', async () => {
  const forbidden = Promise.reject(new Error('SecurityError'));
  const desk = new Desk({ storage: forbidden });
  const problems: string[] = [];
  desk.client.on('problem', ({ message }) => problems.push(message));
  await desk.connect();
  desk.client.send('thr_1', 'Hello');
  await desk.clock.advance(1_000);
  assert.deepEqual([desk.shown, problems], [['Hello'], ['SecurityError']]);
});

test('what is written while a thread and the inbox load is not missed', async () => {
  for (const transport of TRANSPORTS) {
    const desk = new Desk({ transports: [transport] });
    desk.server.write('Are you there?');
    let letIn = (): void => {};
    const late = new Promise<void>((resolve) => (letIn = resolve));
    desk.server.meets = ({ path }) =>
      path === '/v1/inbox' ? (late.then(() => null) as Promise<never>) : null;
    await desk.connect();
    await desk.client.rest.messages('thr_1');
    desk.server.write('Hello?');
    letIn();
    await desk.clock.advance(0);
    desk.server.write('I wait outside');
    await desk.clock.advance(3_000);
    assert.deepEqual(desk.shown, ['Are you there?', 'Hello?', 'I wait outside'], transport);
    await desk.client.close();
  }
});

test('a page is told where the feed begins, so that it asks again for what it has from before', async () => {
  const storage = memoryStorage();
  const desk = new Desk({ storage });
  const begun: string[] = [];
  desk.client.on('begun', ({ sync_cursor }) => begun.push(sync_cursor));
  desk.server.write('Are you there?');
  const { cursor } = desk.server;
  await desk.connect();
  assert.deepEqual(begun, [cursor]);
  desk.server.tell('reset');
  await desk.clock.advance(4_000);
  assert.deepEqual(begun, [cursor], 'a reset reloads everything anyway');
  await desk.client.close();

  const again = new Desk({ storage }, desk.server);
  again.client.on('begun', ({ sync_cursor }) => begun.push(sync_cursor));
  await again.connect();
  assert.equal(again.client.connection.state, 'live');
  assert.deepEqual(begun, [cursor], 'from a cursor that was stored events tell everything');
});

test('a thread that cannot be asked for again is tried until the network is back', async () => {
  const desk = new Desk();
  let asked = 0;
  desk.server.meets = ({ path }) => {
    if (path !== '/v1/threads/thr_1/messages') return null;
    asked += 1;
    if (asked === 1) desk.server.write('Hello?');
    return asked === 2 ? Promise.reject(new TypeError('connection refused')) : null;
  };
  const early = desk.client.rest.messages('thr_1');
  await Promise.all([early, desk.connect()]);
  await desk.clock.advance(60_000);
  assert.deepEqual(desk.shown, ['Hello?']);
  assert.equal(desk.client.connection.state, 'live');
});

test('a thread that is none of theirs does not keep the feed from coming', async () => {
  const desk = new Desk();
  desk.server.meets = ({ path }) =>
    path.startsWith('/v1/threads/thr_9') ? problem(404, 'NOT_FOUND') : null;
  const early = desk.client.rest.messages('thr_9');
  await Promise.all([assert.rejects(early), desk.connect()]);
  assert.equal(desk.client.connection.state, 'live');
});

test('after a reset the inbox is loaded, the page reloads, and the feed goes on', async () => {
  for (const transport of TRANSPORTS) {
    const reloads: string[] = [];
    const desk: Desk = new Desk({
      transports: [transport],
      reload: () => void reloads.push(desk.shown.join()),
    });
    await desk.connect();
    desk.server.write('before');
    await desk.clock.advance(3_000);
    assert.deepEqual(desk.shown, ['before']);
    const inboxes = desk.server.count('GET', '/v1/inbox');
    const reset = desk.server.tell('reset');
    await desk.clock.advance(4_000);
    assert.deepEqual(reloads, [''], transport);
    assert.equal(desk.server.count('GET', '/v1/inbox'), inboxes + 1);
    desk.server.write('after');
    await desk.clock.advance(3_000);
    assert.deepEqual(desk.heard, ['before', 'after']);
    assert.equal(desk.events.filter(({ cursor }) => cursor === reset.cursor).length, 1);
    await desk.client.close();
  }
});

test('an answer from before a reset does not make a gap in what is known', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.server.write('one');
  await desk.clock.advance(0);
  const before = await desk.server.fetch('http://greenroom.test/v1/threads/thr_1/messages', {
    headers: {},
  });
  let answer = (_: Response): void => {};
  const late = new Promise<Response>((resolve) => (answer = resolve));
  desk.server.meets = ({ path }) => (path.endsWith('/messages') ? late : null);
  const page = desk.client.rest.messages('thr_1');
  await desk.clock.advance(0);
  desk.server.tell('reset');
  await desk.clock.advance(1_000);
  answer(before);
  assert.equal((await page).items.length, 1);
  assert.deepEqual(desk.shown, []);
});

test('a page that closes the chat while it is told something hears the rest later', async () => {
  const desk = new Desk({ transports: ['poll'] });
  await desk.connect();
  for (const body of ['one', 'two', 'three']) desk.server.write(body);
  const stop = desk.client.on('event', () => desk.client.setVisibility('closed'));
  await desk.clock.advance(3_000);
  assert.deepEqual(desk.heard, ['one']);
  stop();
  desk.client.setVisibility('open');
  await desk.clock.advance(3_000);
  assert.deepEqual(desk.heard, ['one', 'two', 'three']);
});

test('a reset in the middle of a page loses nothing of what follows', async () => {
  const desk = new Desk({ transports: ['poll'] });
  await desk.connect();
  desk.server.write('one');
  desk.server.tell('reset');
  desk.server.write('two');
  await desk.clock.advance(6_000);
  assert.deepEqual(desk.heard, ['one', 'two']);
});

test('a reload that fails is tried again before the feed goes on', async () => {
  let tries = 0;
  const desk: Desk = new Desk({
    reload: async () => {
      tries += 1;
      if (tries < 3) await desk.client.rest.thread('thr_1');
    },
  });
  await desk.connect();
  desk.server.meets = ({ path }) => (path === '/v1/threads/thr_1' ? problem(503, 'X') : null);
  desk.server.tell('reset');
  desk.server.write('after');
  await desk.clock.advance(10_000);
  assert.deepEqual([tries, desk.heard], [3, ['after']]);
});

test('a server that resets without end is asked ever more seldom', async () => {
  const desk = new Desk({ transports: ['poll'] });
  desk.server.meets = ({ path }) => {
    const events = [event('reset', { cursor: 'e-0' })];
    return path === '/v1/sync' ? Response.json({ events, cursor: 'e-0', has_more: false }) : null;
  };
  await desk.connect();
  await desk.clock.advance(10 * 60_000);
  assert.ok(desk.server.asked.length < 120, `${desk.server.asked.length} requests`);
});

test('a place in the feed that the server cannot read is given up', async () => {
  const desk = new Desk({ transports: ['poll'] });
  await desk.connect();
  desk.server.write('one');
  let isFirst = true;
  desk.server.meets = ({ path }) => {
    if (path !== '/v1/sync' || !isFirst) return null;
    isFirst = false;
    return problem(400, 'INVALID_REQUEST');
  };
  await desk.clock.advance(5_000);
  desk.server.write('two');
  await desk.clock.advance(3_000);
  assert.deepEqual([desk.heard, desk.client.connection.state], [['two'], 'polling']);
});

test('what has arrived is acknowledged, at most once a second', async () => {
  for (const transport of ['websocket', 'sse'] as const) {
    const desk = new Desk({ transports: [transport] });
    await desk.connect();
    for (let number = 0; number < 10; number += 1) {
      desk.server.write(`n${number}`);
      await desk.clock.advance(250);
    }
    await desk.clock.advance(1_000);
    const { acknowledged } = desk.server;
    assert.equal(acknowledged.at(-1), desk.server.cursor, transport);
    assert.ok(acknowledged.length <= 5, `${acknowledged.join()} over ${transport}`);
    await desk.client.close();
  }
});

test('polling acknowledges by asking', async () => {
  const desk = new Desk({ transports: ['poll'] });
  await desk.connect();
  desk.server.write('one');
  await desk.clock.advance(10_000);
  assert.deepEqual(desk.server.acknowledged, []);
  assert.equal(desk.server.asked.at(-1)?.query.get('since'), 'e-1');
});

test('a refused token is replaced once and the request repeated', async () => {
  const desk = new Desk({ transports: ['poll'] });
  const bad = desk.token();
  let isFirst = true;
  const stale = new Desk(
    {
      transports: ['poll'],
      token: () => {
        const given = isFirst ? bad : desk.token();
        isFirst = false;
        return given;
      },
    },
    desk.server,
  );
  desk.server.meets = ({ token }) => (token === bad ? problem(401, 'UNAUTHENTICATED') : null);
  await stale.connect();
  assert.equal(stale.client.connection.state, 'polling');
});

test('open connections get a fresh token before the old one ends', async () => {
  const socket = new Desk();
  socket.tokenLifeS = 600;
  await socket.connect();
  await socket.clock.advance(545_000);
  const renewals = socket.server.said.filter(({ type }) => type === 'auth');
  assert.deepEqual(
    renewals.map(({ token }) => readClaims(String(token))),
    [{ sub: 'ben', exp: 1_800_000_540 + 600, number: 2 }],
  );
  const stream = new Desk({ transports: ['sse'] });
  stream.tokenLifeS = 600;
  await stream.connect();
  const beat = async (): Promise<void> => {
    for (const each of stream.server.streams) each.beat();
    await stream.clock.advance(20_000);
  };
  for (let round = 0; round < 28; round += 1) await beat();
  assert.equal(stream.server.count('POST', '/v1/streams/str_1/renew'), 1);
  assert.equal(stream.server.count('GET', '/v1/stream'), 1);
});

test('a page that fails while it hears an event does not stop the feed', async (t) => {
  const desk = new Desk();
  const shown: unknown[] = [];
  t.mock.method(console, 'error', (error: unknown) => void shown.push(error));
  desk.client.on('event', () => {
    if (desk.heard.length === 1) throw new Error('the page');
  });
  await desk.connect();
  desk.server.write('one');
  await desk.clock.advance(0);
  desk.server.write('two');
  await desk.clock.advance(0);
  assert.deepEqual([desk.heard, shown.length], [['one', 'two'], 1]);
});

test('no timer is left behind by a client that was closed', async () => {
  for (const transport of TRANSPORTS) {
    const desk = new Desk({ transports: [transport] });
    await desk.connect();
    desk.server.write('one');
    await desk.clock.advance(5_000);
    await desk.client.close();
    await desk.clock.advance(30_000);
    assert.equal(desk.clock.waiting, 0, transport);
  }
});

test('whatever breaks and whenever, every message is told once and in order', async () => {
  const given = process.env['GREENROOM_SEED'];
  const seeds = given ? [Number(given)] : Array.from({ length: 12 }, (_, index) => index);
  for (const seed of seeds) {
    const random = seeded(seed);
    const desk = new Desk({ random, storage: memoryStorage() });
    desk.server.page = 3;
    await desk.connect();
    const wanted: string[] = [];
    for (let step = 0; step < 150; step += 1) {
      const roll = random();
      if (roll < 0.3) wanted.push(desk.server.write(`mia ${step}`).body);
      else if (roll < 0.6) {
        desk.client.send('thr_1', `ben ${step}`);
        wanted.push(`ben ${step}`);
      } else if (roll < 0.7) desk.server.breakAll();
      else if (roll < 0.75) desk.server.goAway();
      else if (roll < 0.8) desk.server.answerWith(503, { 'retry-after': '2' });
      else if (roll < 0.85) {
        desk.server.takesSockets = false;
        desk.server.meets = blocking('/v1/stream');
      } else if (roll < 0.95) desk.server.comeBack();
      await desk.clock.advance(random() * 8_000);
    }
    desk.server.comeBack();
    await desk.clock.advance(120_000);
    const written = desk.server.messages.map(({ body }) => body);
    assert.deepEqual(desk.heard, written, `GREENROOM_SEED=${seed}`);
    assert.deepEqual([...written].sort(), wanted.sort(), `GREENROOM_SEED=${seed}`);
    const own = written.filter((body) => body.startsWith('ben'));
    const inOrder = [...own].sort((one, other) => Number(one.slice(4)) - Number(other.slice(4)));
    assert.deepEqual(own, inOrder, `GREENROOM_SEED=${seed}`);
    assert.deepEqual(desk.shown, written.slice(-50));
    await desk.client.close();
  }
});

test('an event that tells of a thread that is left ends watching it', async () => {
  const desk = new Desk();
  await desk.connect();
  desk.client.watch(['thr_1', 'thr_2']);
  desk.server.tell('thread.changed', event('thread.changed'));
  await desk.clock.advance(0);
  const watches = desk.server.said.filter(({ type }) => type === 'watch');
  assert.deepEqual(
    watches.map(({ threads }) => threads),
    [['thr_1', 'thr_2'], ['thr_2']],
  );
});

test('a page that wants the inbox and a client that connects ask for it once', async () => {
  const desk = new Desk();
  const connected = desk.connect();
  const pages = Promise.all([desk.client.inbox(), desk.client.inbox()]);
  await connected;
  const [one, other] = await pages;
  assert.equal(one, other);
  assert.equal(desk.server.count('GET', '/v1/inbox'), 1);
  void desk.client.inbox();
  await desk.clock.advance(0);
  assert.equal(desk.server.count('GET', '/v1/inbox'), 2);
});

test('an inbox that was asked for before a reset is not what is loaded after it', async () => {
  const desk = new Desk();
  await desk.connect();
  const old = desk.client.inbox();
  desk.server.tell('reset');
  await desk.clock.advance(4_000);
  await old;
  assert.equal(desk.server.count('GET', '/v1/inbox'), 3);
  assert.ok(desk.client.state.threads.has('thr_1'));
});
