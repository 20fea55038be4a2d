import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Thread } from '@greenroom/sdk';

import { Format } from '../src/i18n/format.ts';
import { englishShell } from '../src/i18n/shell.ts';
import { neighbour } from '../src/messages/neighbour.ts';
import { handedToken } from '../src/shell/handed_token.ts';
import { addressOf, INBOX, readRoute, takeToken } from '../src/shell/routes.ts';
import { commandOf } from '../src/shell/shortcuts.ts';
import { pageTitle, threadName } from '../src/shell/title.ts';

const at = (path: string): URL => new URL(path, 'https://chat.example.com');

describe('routes', () => {
  it('reads an address and writes the same again', () => {
    for (const address of [
      '/app',
      '/app/sign-in',
      '/app/threads/thr_1',
      '/app?folder=bookings',
      '/app/threads/thr_1?folder=action&panel=expenses',
      '/app/threads/thr_1?panel=docs&dir=rtl',
    ]) {
      assert.equal(addressOf(readRoute(at(address))), address);
    }
  });

  it('takes what it does not know for the inbox', () => {
    assert.deepEqual(readRoute(at('/app/strange?panel=actions')), INBOX);
    assert.equal(readRoute(at('/app/threads/%E0%A4%A')).page, 'inbox');
    assert.equal(readRoute(at('/app/threads/thr_1?panel=strange')).panel, null);
    assert.equal(readRoute(at('/app?dir=up')).dir, null);
  });

  it('keeps an id in its place whatever is in it', () => {
    const address = addressOf({ ...INBOX, page: 'thread', threadId: 'a/b?c' });
    assert.equal(readRoute(at(address)).threadId, 'a/b?c');
  });

  it('takes the token out of an address and leaves the rest', () => {
    const taken = takeToken(at('/app/threads/thr_1?panel=docs#token=a.b.c'));
    assert.deepEqual(taken, { token: 'a.b.c', rest: '/app/threads/thr_1?panel=docs' });
    assert.deepEqual(takeToken(at('/app#token=a&x=1')), { token: 'a', rest: '/app#x=1' });
    assert.deepEqual(takeToken(at('/app#top')), { token: null, rest: '/app#top' });
    assert.deepEqual(takeToken(at('/app#token=')), { token: null, rest: '/app' });
  });
});

describe('a token that was handed over', () => {
  const first = { token: 'head.payload.signature', endsAtMs: 1_000_000 };

  const given = (leftMs: number, kept: typeof first | null = first) => {
    let refusals = 0;
    const clock = { now: () => first.endsAtMs - leftMs };
    const refused = (): number => (refusals += 1);
    const source = handedToken(first, clock, { kept: () => kept, refused });
    assert.equal(source(), first.token);
    return { source, refusals: () => refusals };
  };

  it('has no successor in its last minute, but counts until its end', () => {
    const { source, refusals } = given(30_000);
    assert.throws(source);
    assert.equal(refusals(), 0);
  });

  it('sends the person to the sign-in when it has ended', () => {
    const { source, refusals } = given(0);
    assert.throws(source);
    assert.equal(refusals(), 1);
  });

  it('sends the person to the sign-in when the server refuses it long before its end', () => {
    const { source, refusals } = given(3_600_000, null);
    assert.throws(source);
    assert.equal(refusals(), 1);
  });

  it('has a successor when the person has signed in again in another tab', () => {
    const next = { ...first, token: 'head.later.signature' };
    const { source, refusals } = given(0, next);
    assert.equal(source(), next.token);
    assert.throws(source);
    assert.equal(refusals(), 1);
  });
});

describe('keys', () => {
  const press = (key: string, more: object = {}) => ({
    ...{ key, alt: false, other: false, isWriting: false },
    ...more,
  });

  it('knows its keys', () => {
    assert.equal(commandOf(press('/'), true), 'search');
    assert.equal(commandOf(press('?'), true), 'help');
    assert.equal(commandOf(press('Escape'), true), 'back');
    assert.equal(commandOf(press('ArrowUp', { alt: true }), true), 'previous');
    assert.equal(commandOf(press('ArrowDown', { alt: true }), true), 'next');
    assert.equal(commandOf(press('a'), true), null);
  });

  it('leaves letters to those who write and the browser its own keys', () => {
    assert.equal(commandOf(press('/', { isWriting: true }), true), null);
    assert.equal(commandOf(press('?', { other: true }), true), null);
    assert.equal(commandOf(press('ArrowUp', { alt: true, isWriting: true }), true), 'previous');
  });

  it('has no single keys for those who switched them off', () => {
    assert.equal(commandOf(press('/'), false), null);
    assert.equal(commandOf(press('?'), false), null);
    assert.equal(commandOf(press('Escape'), false), 'back');
  });

  it('goes from one conversation to the next and stops at the ends', () => {
    const ids = ['a', 'b', 'c'];
    assert.equal(neighbour(ids, 'a', 1), 'b');
    assert.equal(neighbour(ids, 'c', 1), null);
    assert.equal(neighbour(ids, 'a', -1), null);
    assert.equal(neighbour(ids, null, 1), 'a');
    assert.equal(neighbour(ids, 'gone', -1), 'a');
    assert.equal(neighbour([], null, 1), null);
  });
});

describe('title', () => {
  const format = new Format('en', 'UTC');
  const person = (user_id: string, display_name: string) => ({
    ...{ user_id, display_name, avatar_url: null, role: 'buyer', status: 'active' },
  });
  const thread = {
    participants: [
      person('maya', 'Maya Lindqvist'),
      person('theo', 'Theo Adeyemi'),
      person('ada', 'Ada Whitcombe'),
    ],
    subject: 'Lookbook',
  } as unknown as Thread;

  it('names the others', () => {
    assert.equal(threadName(thread, 'maya', format), 'Theo Adeyemi and Ada Whitcombe');
  });

  it('begins with how much is unread', () => {
    const words = englishShell;
    assert.equal(pageTitle(words, 'Theo', 3, format), '(3) Theo · Messages');
    assert.equal(pageTitle(words, 'Theo', 0, format), 'Theo · Messages');
    assert.equal(pageTitle(words, null, 0, format), 'Messages · Greenroom');
  });
});
