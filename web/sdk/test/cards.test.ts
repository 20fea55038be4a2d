import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Problem } from '../src/problem.js';
import { Desk } from './desk.js';
import { json } from './server.js';
import { card, message } from './things.js';

async function deskWithCard(): Promise<Desk> {
  const desk = new Desk();
  await desk.connect();
  desk.server.tell('message.new', { message: message(1, { kind: 'card', card: card(1) }) });
  await desk.clock.advance(0);
  return desk;
}

function shownCard(desk: Desk) {
  return desk.client.state.threads.get('thr_1')?.messages[0]?.card;
}

test('an action names the version that was seen, under the key of its attempt', async () => {
  const desk = await deskWithCard();
  const paid = card(1, { state: 'paid', version: 2 });
  desk.server.meets = ({ path }) =>
    path === '/v1/cards/crd_1/accept' ? json({ card: paid }) : null;
  const answer = await desk.client.rest.actOnCard(card(1), 'accept', { option: 2 }, 'key-1');
  const asked = desk.server.asked.at(-1);
  assert.deepEqual(asked?.body, { version: 1, option: 2 });
  assert.equal(asked?.key, 'key-1');
  assert.equal(answer.state, 'paid');
  assert.equal(shownCard(desk)?.state, 'paid');
});

test('an answer that comes after the event does not take the card back', async () => {
  const desk = await deskWithCard();
  let answer = (_: Response): void => {};
  const late = new Promise<Response>((resolve) => (answer = resolve));
  desk.server.meets = ({ path }) => (path.startsWith('/v1/cards/') ? late : null);
  const acting = desk.client.rest.actOnCard(card(1), 'accept', {}, 'key-1');
  await desk.clock.advance(0);
  desk.server.tell('card.changed', { card: card(1, { state: 'paid', version: 3 }) });
  await desk.clock.advance(0);
  answer(json({ card: card(1, { state: 'charging', version: 2 }) }));
  assert.equal((await acting).state, 'charging');
  assert.equal(shownCard(desk)?.state, 'paid');
});

test('an action that came too late says how the card is now', async () => {
  const desk = await deskWithCard();
  const now = card(1, { state: 'declined', version: 4 });
  const stale = { status: 409, code: 'ACTION_STALE_VERSION', title: 'Too late', card: now };
  desk.server.meets = ({ path }) => (path.startsWith('/v1/cards/') ? json(stale, 409) : null);
  const acting = desk.client.rest.actOnCard(card(1), 'accept', {}, 'key-1');
  await assert.rejects(acting, (error: unknown) => {
    assert.ok(error instanceof Problem);
    assert.equal(error.document.card?.state, 'declined');
    return true;
  });
});

test('the calls about cards and the panel go where the server has them', async () => {
  const desk = new Desk();
  desk.server.meets = () => json({});
  const { rest } = desk.client;
  await rest.me();
  await rest.catalogue('de');
  await rest.card('crd_1');
  await rest.createCard('thr_1', 'extras', { items: [] }, 'key-2');
  await rest.panel('thr_1');
  await rest.panelTab('thr_1', 'docs');
  await rest.booking('lbg_1');
  await rest.legCalendar('leg_1');
  await rest.manifest('man_1');
  await rest.addManifest('thr_1', { items: [] } as never, 'key-3');
  assert.deepEqual(
    desk.server.asked.map(({ method, path, query, key }) => [method, path, String(query), key]),
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
