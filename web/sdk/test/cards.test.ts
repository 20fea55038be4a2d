import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Problem } from '../src/problem.js';
import { TestClient } from './test_client.js';
import { json } from './server.js';
import { card, message } from './things.js';

async function deskWithCard(): Promise<TestClient> {
  const chat = new TestClient();
  await chat.connect();
  chat.server.tell('message.new', { message: message(1, { kind: 'card', card: card(1) }) });
  await chat.clock.advance(0);
  return chat;
}

function shownCard(chat: TestClient) {
  return chat.client.state.threads.get('thr_1')?.messages[0]?.card;
}

test('an action names the version that was seen, under the key of its attempt', async () => {
  const chat = await deskWithCard();
  const paid = card(1, { state: 'paid', version: 2 });
  chat.server.meets = ({ path }) =>
    path === '/v1/cards/crd_1/accept' ? json({ card: paid }) : null;
  const answer = await chat.client.rest.actOnCard(card(1), 'accept', { option: 2 }, 'key-1');
  const asked = chat.server.asked.at(-1);
  assert.deepEqual(asked?.body, { version: 1, option: 2 });
  assert.equal(asked?.key, 'key-1');
  assert.equal(answer.state, 'paid');
  assert.equal(shownCard(chat)?.state, 'paid');
});

test('an answer that comes after the event does not take the card back', async () => {
  const chat = await deskWithCard();
  let answer = (_: Response): void => {};
  const late = new Promise<Response>((resolve) => (answer = resolve));
  chat.server.meets = ({ path }) => (path.startsWith('/v1/cards/') ? late : null);
  const acting = chat.client.rest.actOnCard(card(1), 'accept', {}, 'key-1');
  await chat.clock.advance(0);
  chat.server.tell('card.changed', { card: card(1, { state: 'paid', version: 3 }) });
  await chat.clock.advance(0);
  answer(json({ card: card(1, { state: 'charging', version: 2 }) }));
  assert.equal((await acting).state, 'charging');
  assert.equal(shownCard(chat)?.state, 'paid');
});

test('an action that came too late says how the card is now', async () => {
  const chat = await deskWithCard();
  const now = card(1, { state: 'declined', version: 4 });
  const stale = { status: 409, code: 'ACTION_STALE_VERSION', title: 'Too late', card: now };
  chat.server.meets = ({ path }) => (path.startsWith('/v1/cards/') ? json(stale, 409) : null);
  const acting = chat.client.rest.actOnCard(card(1), 'accept', {}, 'key-1');
  await assert.rejects(acting, (error: unknown) => {
    assert.ok(error instanceof Problem);
    assert.equal(error.document.card?.state, 'declined');
    return true;
  });
});

test('a single thing comes out of the noun that the server says it under', async () => {
  const chat = new TestClient();
  const { rest } = chat.client;
  const single: [string, () => Promise<{ id: string }>][] = [
    ['user', () => rest.me() as Promise<never>],
    ['user', () => rest.user('maya') as Promise<never>],
    ['panel', () => rest.panel('thr_1') as Promise<never>],
    ['booking', () => rest.booking('lbg_1')],
    ['manifest', () => rest.manifest('man_1')],
    ['manifest', () => rest.addManifest('thr_1', { items: [] }, 'key-1')],
    ['message', () => rest.edit('thr_1', 'msg_1', 'Hello')],
    ['message', () => rest.delete('thr_1', 'msg_1')],
  ];
  for (const [noun, ask] of single) {
    const thing = { id: noun, thread_id: 'thr_1', seq: 1 };
    chat.server.meets = () => json({ [noun]: thing });
    assert.deepEqual(await ask(), thing);
  }
});

test('the calls about cards and the panel go where the server has them', async () => {
  const chat = new TestClient();
  chat.server.meets = () => json({});
  const { rest } = chat.client;
  await rest.me();
  await rest.catalogue('de');
  await rest.card('crd_1');
  await rest.createCard('thr_1', 'extras', { items: [] }, 'key-2');
  await rest.panel('thr_1');
  await rest.panelTab('thr_1', 'docs');
  await rest.booking('lbg_1');
  await rest.legCalendar('leg_1');
  await rest.manifest('man_1');
  await rest.addManifest('thr_1', { items: [] }, 'key-3');
  assert.deepEqual(
    chat.server.asked.map(({ method, path, query, key }) => [method, path, String(query), key]),
    [
      ['GET', '/v1/me', '', undefined],
      ['GET', '/v1/cards/catalogue', 'locale=de', undefined],
      ['GET', '/v1/cards/crd_1', '', undefined],
      ['POST', '/v1/threads/thr_1/cards', '', 'key-2'],
      ['GET', '/v1/threads/thr_1/panel', '', undefined],
      ['GET', '/v1/threads/thr_1/panel/docs', '', undefined],
      ['GET', '/v1/bookings/lbg_1', '', undefined],
      ['GET', '/v1/legs/leg_1.ics', '', undefined],
      ['GET', '/v1/manifests/man_1', '', undefined],
      ['POST', '/v1/threads/thr_1/manifests', '', 'key-3'],
    ],
  );
});
