import assert from 'node:assert/strict';
import { test } from 'node:test';

import { memoryStorage } from '../src/storage.js';
import { readClaims } from '../src/tokens.js';
import { blocking, TestClient } from './test_client.js';
import { FakeClock, seeded } from './fakes.js';
import { FakeServer, problem } from './server.js';
import { event } from './things.js';

const TRANSPORTS = ['websocket', 'sse', 'long-poll', 'poll'] as const;

test('a person writes, and sees it once, on every transport', async () => {
  for (const transport of TRANSPORTS) {
    const chat = new TestClient({ transports: [transport] });
    await chat.connect();
    const { clientId, sent } = chat.client.send('thr_1', 'Hello');
    await chat.clock.advance(3_000);
    assert.equal((await sent).client_id, clientId);
    assert.deepEqual(chat.shown, ['Hello'], transport);
    assert.deepEqual(
      chat.sends.map(({ state }) => state),
      ['queued', 'sending', 'sent'],
    );
    assert.deepEqual([chat.heard, chat.client.sends()], [['Hello'], []]);
    assert.equal(chat.server.messages.length, 1);
    await chat.client.close();
  }
});

test('an open socket takes the sends', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.client.send('thr_1', 'Hello', { replyTo: 'msg_7' });
  await chat.clock.advance(0);
  const [frame] = chat.server.said.filter(({ type }) => type === 'send');
  const { ref, ...rest } = frame ?? {};
  assert.deepEqual(rest, {
    type: 'send',
    thread_id: 'thr_1',
    client_id: 'c1',
    body: 'Hello',
    reply_to: 'msg_7',
  });
  assert.equal(typeof ref, 'string');
  assert.equal(chat.server.count('POST', '/v1/threads/thr_1/messages'), 0);
});

test('a send whose socket dies before the answer goes out again and happens once', async () => {
  const chat = new TestClient();
  await chat.connect();
  const socket = chat.server.sockets[0];
  assert.ok(socket);
  // The server takes the send, and the answer is lost with the connection.
  socket.send = (text) => {
    const frame = JSON.parse(text) as Record<string, unknown>;
    socket.isOpen = false;
    if (frame['type'] === 'send') chat.server.send('thr_1', frame);
    chat.server.takesSockets = false;
    socket.hangUp(1006);
  };
  const { sent } = chat.client.send('thr_1', 'Hello');
  await chat.clock.advance(3_000);
  assert.equal((await sent).body, 'Hello');
  assert.equal(chat.server.messages.length, 1);
  assert.deepEqual([chat.shown, chat.heard], [['Hello'], ['Hello']]);
});

test('sends made without a network arrive in order when it is back, once each', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.server.goAway();
  await chat.clock.advance(10_000);
  const asked = chat.server.count('POST', '/v1/threads/thr_1/messages');
  for (const body of ['one', 'two', 'three']) chat.client.send('thr_1', body);
  await chat.clock.advance(60_000);
  assert.equal(chat.server.count('POST', '/v1/threads/thr_1/messages'), asked);
  assert.deepEqual(
    chat.client.sends().map(({ state }) => state),
    ['queued', 'queued', 'queued'],
  );
  chat.server.comeBack();
  await chat.clock.advance(31_000);
  assert.deepEqual(
    chat.server.messages.map(({ body }) => body),
    ['one', 'two', 'three'],
  );
  assert.deepEqual(chat.shown, ['one', 'two', 'three']);
});

test('sends outlive the page: the next one sends them, under the same ids', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new TestClient({ storage }, server);
  await first.connect();
  server.goAway();
  await first.clock.advance(1_000);
  first.client.send('thr_1', 'one');
  first.client.send('thr_1', 'two');
  await first.client.close();
  server.comeBack();
  const second = new TestClient({ storage }, server);
  await second.connect();
  await second.clock.advance(1_000);
  const written = server.messages.map(({ client_id, body }) => `${client_id} ${body}`);
  assert.deepEqual(written, ['c1 one', 'c2 two']);
  const third = new TestClient({ storage }, server);
  await third.connect();
  assert.deepEqual([third.client.sends(), server.messages.length], [[], 2]);
});

test('a send that the server refuses fails with its problem, and can be retried', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  await chat.connect();
  chat.server.meets = ({ method }) => (method === 'POST' ? problem(422, 'MSG_TOO_LONG') : null);
  const { clientId, sent } = chat.client.send('thr_1', 'too long');
  await chat.clock.advance(60_000);
  await assert.rejects(sent, { code: 'MSG_TOO_LONG' });
  assert.equal(chat.client.sends()[0]?.problem?.code, 'MSG_TOO_LONG');
  assert.equal(chat.server.count('POST', '/v1/threads/thr_1/messages'), 1);
  chat.server.comeBack();
  chat.client.retry(clientId);
  await chat.clock.advance(0);
  assert.deepEqual([chat.client.sends(), chat.server.messages.length], [[], 1]);
});

test('a send that is discarded is over, and one under way cannot be', async () => {
  const chat = new TestClient();
  const waiting = chat.client.send('thr_1', 'never mind');
  assert.equal(chat.client.discard(waiting.clientId), true);
  await assert.rejects(waiting.sent, { code: 'DISCARDED' });
  await chat.connect();
  const going = chat.client.send('thr_1', 'Hello');
  assert.equal(chat.client.discard(going.clientId), false);
  await chat.clock.advance(0);
  assert.equal((await going.sent).body, 'Hello');
  assert.equal(chat.server.messages.length, 1);
});

test('a problem on the socket fails the send and keeps the socket', async () => {
  const chat = new TestClient();
  await chat.connect();
  const [socket] = chat.server.sockets;
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
  const { sent } = chat.client.send('thr_9', 'Hello');
  await chat.clock.advance(0);
  await assert.rejects(sent, { code: 'THREAD_NOT_FOUND', status: 404 });
  assert.equal(chat.client.connection.state, 'live');
});

test('closing the chat right after a send does not hold the send back', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  await chat.connect();
  chat.client.send('thr_1', 'bye');
  chat.client.setVisibility('closed');
  await chat.clock.advance(0);
  assert.deepEqual(
    chat.server.messages.map(({ body }) => body),
    ['bye'],
  );
  await chat.clock.advance(0);
  assert.equal(chat.client.connection.state, 'closed');
});

test('a chat that was closed stays connected until what waits is sent', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.server.goAway();
  chat.client.send('thr_1', 'bye');
  chat.client.setVisibility('closed');
  await chat.clock.advance(10_000);
  chat.server.comeBack();
  await chat.clock.advance(31_000);
  assert.deepEqual(
    chat.server.messages.map(({ body }) => body),
    ['bye'],
  );
  assert.equal(chat.client.connection.state, 'closed');
});

test('a send whose answer is lost is not sent again when the feed tells of it', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  await chat.connect();
  chat.server.meets = ({ method, body }) => {
    if (method !== 'POST') return null;
    chat.server.send('thr_1', body);
    return problem(503, 'UNAVAILABLE');
  };
  const { sent } = chat.client.send('thr_1', 'Hello');
  await chat.clock.advance(60_000);
  assert.equal((await sent).body, 'Hello');
  assert.equal(chat.server.count('POST', '/v1/threads/thr_1/messages'), 1);
});

test('what was known is there after a reload, and the feed goes on from its place', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new TestClient({ storage }, server);
  await first.connect();
  server.write('one');
  await first.client.close();
  server.write('two');
  const second = new TestClient({ storage, user: 'ben' }, server);
  const inboxes = server.count('GET', '/v1/inbox');
  await second.connect();
  assert.deepEqual([second.shown, second.heard], [['one', 'two'], ['two']]);
  assert.equal(server.count('GET', '/v1/inbox'), inboxes);
});

test('what was known can be shown while neither server nor token can be had', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new TestClient({ storage }, server);
  await first.connect();
  server.write('one');
  await first.client.close();
  server.goAway();
  const offline = (): string => {
    throw new Error('no network');
  };
  const second = new TestClient({ storage, user: 'ben', token: offline }, server);
  await second.connect();
  assert.deepEqual([second.shown, second.client.connection.state], [['one'], 'offline']);
});

test('another person on the same device sees nothing of it', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new TestClient({ storage }, server);
  await first.connect();
  server.write('one');
  await first.client.close();
  const second = new TestClient({ storage, user: 'mia' }, server);
  await second.connect();
  assert.deepEqual([second.shown, second.heard], [[], []]);
});

test('who logs out leaves nothing', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new TestClient({ storage }, server);
  await first.connect();
  server.write('one');
  await first.client.forget();
  assert.deepEqual(first.shown, []);
  const second = new TestClient({ storage }, server);
  await second.connect();
  assert.deepEqual(second.shown, []);
});

test('what comes in after the logout is not stored', async () => {
  const server = new FakeServer(new FakeClock());
  const storage = memoryStorage();
  const first = new TestClient({ storage, transports: ['poll'] }, server);
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
  const chat = new TestClient({ storage: forbidden });
  const problems: string[] = [];
  chat.client.on('problem', ({ message }) => problems.push(message));
  await chat.connect();
  chat.client.send('thr_1', 'Hello');
  await chat.clock.advance(1_000);
  assert.deepEqual([chat.shown, problems], [['Hello'], ['SecurityError']]);
});

test('what is written while a thread and the inbox load is not missed', async () => {
  for (const transport of TRANSPORTS) {
    const chat = new TestClient({ transports: [transport] });
    chat.server.write('Are you there?');
    let letIn = (): void => {};
    const late = new Promise<void>((resolve) => (letIn = resolve));
    chat.server.meets = ({ path }) =>
      path === '/v1/inbox' ? (late.then(() => null) as Promise<never>) : null;
    await chat.connect();
    await chat.client.rest.messages('thr_1');
    chat.server.write('Hello?');
    letIn();
    await chat.clock.advance(0);
    chat.server.write('I wait outside');
    await chat.clock.advance(3_000);
    assert.deepEqual(chat.shown, ['Are you there?', 'Hello?', 'I wait outside'], transport);
    await chat.client.close();
  }
});

test('a page is told where the feed begins, so that it asks again for what it has from before', async () => {
  const storage = memoryStorage();
  const chat = new TestClient({ storage });
  const begun: string[] = [];
  chat.client.on('begun', ({ sync_cursor }) => begun.push(sync_cursor));
  chat.server.write('Are you there?');
  const { cursor } = chat.server;
  await chat.connect();
  assert.deepEqual(begun, [cursor]);
  chat.server.tell('reset');
  await chat.clock.advance(4_000);
  assert.deepEqual(begun, [cursor], 'a reset reloads everything anyway');
  await chat.client.close();

  const again = new TestClient({ storage }, chat.server);
  again.client.on('begun', ({ sync_cursor }) => begun.push(sync_cursor));
  await again.connect();
  assert.equal(again.client.connection.state, 'live');
  assert.deepEqual(begun, [cursor], 'from a cursor that was stored events tell everything');
});

test('a thread that cannot be asked for again is tried until the network is back', async () => {
  const chat = new TestClient();
  let asked = 0;
  chat.server.meets = ({ path }) => {
    if (path !== '/v1/threads/thr_1/messages') return null;
    asked += 1;
    if (asked === 1) chat.server.write('Hello?');
    return asked === 2 ? Promise.reject(new TypeError('connection refused')) : null;
  };
  const early = chat.client.rest.messages('thr_1');
  await Promise.all([early, chat.connect()]);
  await chat.clock.advance(60_000);
  assert.deepEqual(chat.shown, ['Hello?']);
  assert.equal(chat.client.connection.state, 'live');
});

test('a thread that is none of theirs does not keep the feed from coming', async () => {
  const chat = new TestClient();
  chat.server.meets = ({ path }) =>
    path.startsWith('/v1/threads/thr_9') ? problem(404, 'NOT_FOUND') : null;
  const early = chat.client.rest.messages('thr_9');
  await Promise.all([assert.rejects(early), chat.connect()]);
  assert.equal(chat.client.connection.state, 'live');
});

test('after a reset the inbox is loaded, the page reloads, and the feed goes on', async () => {
  for (const transport of TRANSPORTS) {
    const reloads: string[] = [];
    const chat: TestClient = new TestClient({
      transports: [transport],
      reload: () => void reloads.push(chat.shown.join()),
    });
    await chat.connect();
    chat.server.write('before');
    await chat.clock.advance(3_000);
    assert.deepEqual(chat.shown, ['before']);
    const inboxes = chat.server.count('GET', '/v1/inbox');
    const reset = chat.server.tell('reset');
    await chat.clock.advance(4_000);
    assert.deepEqual(reloads, [''], transport);
    assert.equal(chat.server.count('GET', '/v1/inbox'), inboxes + 1);
    chat.server.write('after');
    await chat.clock.advance(3_000);
    assert.deepEqual(chat.heard, ['before', 'after']);
    assert.equal(chat.events.filter(({ cursor }) => cursor === reset.cursor).length, 1);
    await chat.client.close();
  }
});

test('an answer from before a reset does not make a gap in what is known', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.server.write('one');
  await chat.clock.advance(0);
  const before = await chat.server.fetch('http://greenroom.test/v1/threads/thr_1/messages', {
    headers: {},
  });
  let answer = (_: Response): void => {};
  const late = new Promise<Response>((resolve) => (answer = resolve));
  chat.server.meets = ({ path }) => (path.endsWith('/messages') ? late : null);
  const page = chat.client.rest.messages('thr_1');
  await chat.clock.advance(0);
  chat.server.tell('reset');
  await chat.clock.advance(1_000);
  answer(before);
  assert.equal((await page).items.length, 1);
  assert.deepEqual(chat.shown, []);
});

test('a page that closes the chat while it is told something hears the rest later', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  await chat.connect();
  for (const body of ['one', 'two', 'three']) chat.server.write(body);
  const stop = chat.client.on('event', () => chat.client.setVisibility('closed'));
  await chat.clock.advance(3_000);
  assert.deepEqual(chat.heard, ['one']);
  stop();
  chat.client.setVisibility('open');
  await chat.clock.advance(3_000);
  assert.deepEqual(chat.heard, ['one', 'two', 'three']);
});

test('a reset in the middle of a page loses nothing of what follows', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  await chat.connect();
  chat.server.write('one');
  chat.server.tell('reset');
  chat.server.write('two');
  await chat.clock.advance(6_000);
  assert.deepEqual(chat.heard, ['one', 'two']);
});

test('a reload that fails is tried again before the feed goes on', async () => {
  let tries = 0;
  const chat: TestClient = new TestClient({
    reload: async () => {
      tries += 1;
      if (tries < 3) await chat.client.rest.thread('thr_1');
    },
  });
  await chat.connect();
  chat.server.meets = ({ path }) => (path === '/v1/threads/thr_1' ? problem(503, 'X') : null);
  chat.server.tell('reset');
  chat.server.write('after');
  await chat.clock.advance(10_000);
  assert.deepEqual([tries, chat.heard], [3, ['after']]);
});

test('a server that resets without end is asked ever more seldom', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  chat.server.meets = ({ path }) => {
    const events = [event('reset', { cursor: 'e-0' })];
    return path === '/v1/sync' ? Response.json({ events, cursor: 'e-0', has_more: false }) : null;
  };
  await chat.connect();
  await chat.clock.advance(10 * 60_000);
  assert.ok(chat.server.asked.length < 120, `${chat.server.asked.length} requests`);
});

test('a place in the feed that the server cannot read is given up', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  await chat.connect();
  chat.server.write('one');
  let isFirst = true;
  chat.server.meets = ({ path }) => {
    if (path !== '/v1/sync' || !isFirst) return null;
    isFirst = false;
    return problem(400, 'INVALID_REQUEST');
  };
  await chat.clock.advance(5_000);
  chat.server.write('two');
  await chat.clock.advance(3_000);
  assert.deepEqual([chat.heard, chat.client.connection.state], [['two'], 'polling']);
});

test('what has arrived is acknowledged, at most once a second', async () => {
  for (const transport of ['websocket', 'sse'] as const) {
    const chat = new TestClient({ transports: [transport] });
    await chat.connect();
    for (let number = 0; number < 10; number += 1) {
      chat.server.write(`n${number}`);
      await chat.clock.advance(250);
    }
    await chat.clock.advance(1_000);
    const { acknowledged } = chat.server;
    assert.equal(acknowledged.at(-1), chat.server.cursor, transport);
    assert.ok(acknowledged.length <= 5, `${acknowledged.join()} over ${transport}`);
    await chat.client.close();
  }
});

test('polling acknowledges by asking', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  await chat.connect();
  chat.server.write('one');
  await chat.clock.advance(10_000);
  assert.deepEqual(chat.server.acknowledged, []);
  assert.equal(chat.server.asked.at(-1)?.query.get('since'), 'e-1');
});

test('a refused token is replaced once and the request repeated', async () => {
  const chat = new TestClient({ transports: ['poll'] });
  const bad = chat.token();
  let isFirst = true;
  const stale = new TestClient(
    {
      transports: ['poll'],
      token: () => {
        const given = isFirst ? bad : chat.token();
        isFirst = false;
        return given;
      },
    },
    chat.server,
  );
  chat.server.meets = ({ token }) => (token === bad ? problem(401, 'UNAUTHENTICATED') : null);
  await stale.connect();
  assert.equal(stale.client.connection.state, 'polling');
});

test('open connections get a fresh token before the old one ends', async () => {
  const socket = new TestClient();
  socket.tokenLifeS = 600;
  await socket.connect();
  await socket.clock.advance(545_000);
  const renewals = socket.server.said.filter(({ type }) => type === 'auth');
  assert.deepEqual(
    renewals.map(({ token }) => readClaims(String(token))),
    [{ sub: 'ben', exp: 1_800_000_540 + 600, number: 2 }],
  );
  const stream = new TestClient({ transports: ['sse'] });
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
  const chat = new TestClient();
  const shown: unknown[] = [];
  t.mock.method(console, 'error', (error: unknown) => void shown.push(error));
  chat.client.on('event', () => {
    if (chat.heard.length === 1) throw new Error('the page');
  });
  await chat.connect();
  chat.server.write('one');
  await chat.clock.advance(0);
  chat.server.write('two');
  await chat.clock.advance(0);
  assert.deepEqual([chat.heard, shown.length], [['one', 'two'], 1]);
});

test('no timer is left behind by a client that was closed', async () => {
  for (const transport of TRANSPORTS) {
    const chat = new TestClient({ transports: [transport] });
    await chat.connect();
    chat.server.write('one');
    await chat.clock.advance(5_000);
    await chat.client.close();
    await chat.clock.advance(30_000);
    assert.equal(chat.clock.waiting, 0, transport);
  }
});

test('whatever breaks and whenever, every message is told once and in order', async () => {
  const given = process.env['GREENROOM_SEED'];
  const seeds = given ? [Number(given)] : Array.from({ length: 12 }, (_, index) => index);
  for (const seed of seeds) {
    const random = seeded(seed);
    const chat = new TestClient({ random, storage: memoryStorage() });
    chat.server.page = 3;
    await chat.connect();
    const wanted: string[] = [];
    for (let step = 0; step < 150; step += 1) {
      const roll = random();
      if (roll < 0.3) wanted.push(chat.server.write(`mia ${step}`).body);
      else if (roll < 0.6) {
        chat.client.send('thr_1', `ben ${step}`);
        wanted.push(`ben ${step}`);
      } else if (roll < 0.7) chat.server.breakAll();
      else if (roll < 0.75) chat.server.goAway();
      else if (roll < 0.8) chat.server.answerWith(503, { 'retry-after': '2' });
      else if (roll < 0.85) {
        chat.server.takesSockets = false;
        chat.server.meets = blocking('/v1/stream');
      } else if (roll < 0.95) chat.server.comeBack();
      await chat.clock.advance(random() * 8_000);
    }
    chat.server.comeBack();
    await chat.clock.advance(120_000);
    const written = chat.server.messages.map(({ body }) => body);
    assert.deepEqual(chat.heard, written, `GREENROOM_SEED=${seed}`);
    assert.deepEqual([...written].sort(), wanted.sort(), `GREENROOM_SEED=${seed}`);
    const own = written.filter((body) => body.startsWith('ben'));
    const inOrder = [...own].sort((one, other) => Number(one.slice(4)) - Number(other.slice(4)));
    assert.deepEqual(own, inOrder, `GREENROOM_SEED=${seed}`);
    assert.deepEqual(chat.shown, written.slice(-50));
    await chat.client.close();
  }
});

test('an event that tells of a thread that is left ends watching it', async () => {
  const chat = new TestClient();
  await chat.connect();
  chat.client.watch(['thr_1', 'thr_2']);
  chat.server.tell('thread.changed', event('thread.changed'));
  await chat.clock.advance(0);
  const watches = chat.server.said.filter(({ type }) => type === 'watch');
  assert.deepEqual(
    watches.map(({ threads }) => threads),
    [['thr_1', 'thr_2'], ['thr_2']],
  );
});

test('a page that wants the inbox and a client that connects ask for it once', async () => {
  const chat = new TestClient();
  const connected = chat.connect();
  const pages = Promise.all([chat.client.inbox(), chat.client.inbox()]);
  await connected;
  const [one, other] = await pages;
  assert.equal(one, other);
  assert.equal(chat.server.count('GET', '/v1/inbox'), 1);
  void chat.client.inbox();
  await chat.clock.advance(0);
  assert.equal(chat.server.count('GET', '/v1/inbox'), 2);
});

test('an inbox that was asked for before a reset is not what is loaded after it', async () => {
  const chat = new TestClient();
  await chat.connect();
  const old = chat.client.inbox();
  chat.server.tell('reset');
  await chat.clock.advance(4_000);
  await old;
  assert.equal(chat.server.count('GET', '/v1/inbox'), 3);
  assert.ok(chat.client.state.threads.has('thr_1'));
});
