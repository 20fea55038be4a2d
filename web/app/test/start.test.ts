import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { State, Thread } from '@greenroom/sdk';

import { Problem } from '../../sdk/src/problem.ts';
import { Format } from '../src/i18n/format.ts';
import { loadStartWords } from '../src/i18n/start.ts';
import {
  answered,
  clientIdFor,
  draftPlace,
  newThread,
  reasonOf,
  talkWith,
} from '../src/start/begun.ts';
import { person, thread } from './inbox_things.ts';

const wish = { to: 'theo', listing_key: 'shoot-1', subject: 'A shoot' };

function knowing(...threads: Thread[]): State {
  const alone = { inbox: null, messages: [], marks: {} };
  return { threads: new Map(threads.map((each) => [each.id, { thread: each, ...alone }])) };
}

test('of the conversations of two people, the one in use last is offered', () => {
  const old = thread('old', { last_message_at: '2026-11-01T09:00:00.000Z' });
  const latest = thread('latest', { last_message_at: '2026-11-03T09:00:00.000Z' });
  const between = thread('between', { last_message_at: '2026-11-02T09:00:00.000Z' });
  const state = knowing(old, latest, between);
  assert.equal(talkWith(state, 'maya', 'theo')?.id, 'latest');
  assert.equal(talkWith(state, 'theo', 'maya')?.id, 'latest');
  assert.equal(talkWith(state, 'maya', 'noor'), null);
});

test('a conversation that cannot go on between the two alone is not offered', () => {
  const [maya, theo] = thread('any').participants;
  const noor = person('noor', 'Noor', 'host');
  const others = [
    thread('locked', { locked: true }),
    thread('support', { kind: 'support' }),
    thread('three', { participants: [maya!, theo!, noor] }),
    thread('left', { participants: [maya!, { ...theo!, status: 'left' }] }),
  ];
  assert.equal(talkWith(knowing(...others), 'maya', 'theo'), null);
});

test('a text has one client_id for all its tries, another text and another person have others', () => {
  const id = clientIdFor('maya', wish, 'Hello');
  assert.match(id, /^[a-z0-9-]{8,64}$/);
  assert.equal(clientIdFor('maya', wish, 'Hello'), id);
  assert.notEqual(clientIdFor('theo', wish, 'Hello'), id);
  assert.notEqual(clientIdFor('maya', { ...wish, listing_key: 'shoot-2' }, 'Hello'), id);
  assert.equal(clientIdFor('maya', wish, 'Hello'), id);
  assert.notEqual(clientIdFor('maya', wish, 'Hello there'), id);
});

test('once it is answered, the same text is another message', () => {
  const id = clientIdFor('maya', wish, 'Again');
  answered('maya', wish);
  assert.notEqual(clientIdFor('maya', wish, 'Again'), id);
});

test('each person and each listing has a draft of its own', () => {
  const wishes = [{ to: 'a' }, { to: 'b' }, { to: 'a', listing_key: 'b' }, { to: 'a","b' }];
  assert.equal(new Set(wishes.map(draftPlace)).size, wishes.length);
});

test('what the page left out is left out of the request', () => {
  assert.deepEqual(newThread({ to: 'theo', subject: '' }, 'id', 'Hello'), {
    kind: 'inquiry',
    to: 'theo',
    subject: null,
    listing_key: null,
    role_context: null,
    first_message: { client_id: 'id', body: 'Hello' },
  });
});

test('why a message was not sent is said in the reader’s language', async () => {
  const said = async (locale: string, status: number, code: string, seconds = 0) =>
    reasonOf(new Problem({ status, code, title: '' }, seconds * 1000), {
      words: await loadStartWords(locale),
      format: new Format(locale, 'UTC'),
      nowMs: 0,
      name: 'Theo',
    });
  assert.match((await said('en', 429, 'RATE_LIMITED', 1500)) ?? '', /in 25 min\./);
  assert.match((await said('de', 429, 'RATE_LIMITED', 1500)) ?? '', /In 25 Min\./);
  assert.match((await said('en', 0, 'UNREACHABLE')) ?? '', /Your text stays here/);
  assert.match((await said('en', 404, 'USER_NOT_FOUND')) ?? '', /cannot be found/);
  assert.match((await said('de', 403, 'MSG_BLOCKED_BY_USER')) ?? '', /Theo blockiert/);
  assert.match((await said('en', 422, 'MSG_TOO_LONG')) ?? '', /too long/);
  assert.equal(await said('en', 500, 'INTERNAL'), null);
});
