import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Clock, Message, Thread } from '@greenroom/sdk';

import { Arrivals } from '../src/thread/arrivals.ts';
import {
  draftOf,
  MOST_DRAFTS,
  onDraft,
  parseDrafts,
  saveDraft,
  withDraft,
} from '../src/session/drafts.ts';
import { actionOfKey, actionsFor } from '../src/thread/message_actions.ts';
import { ReadMarks } from '../src/thread/read_marks.ts';
import { isDisguised, safeAddress } from '../src/thread/rich_text.ts';
import { whyClosed } from '../src/thread/rights.ts';
import { excerptOf, isEmojiOnly, lengthOf } from '../src/thread/text.ts';

/** Time that passes only when it is told to. */
class FakeClock implements Clock {
  #nowMs = 0;
  #timers: { atMs: number; run: () => void }[] = [];

  now(): number {
    return this.#nowMs;
  }

  setTimeout(run: () => void, ms: number): unknown {
    const timer = { atMs: this.#nowMs + ms, run };
    this.#timers.push(timer);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.#timers = this.#timers.filter((each) => each !== timer);
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#timers = this.#timers.filter((each) => !due.includes(each));
    for (const { run } of due) run();
  }
}

test('a draft is kept per person and thread, and told of', () => {
  const told: string[] = [];
  const stop = onDraft((threadId) => told.push(threadId));
  saveDraft('maya', 'thr_1', 'Hello');
  saveDraft('maya', 'thr_1', 'Hello');
  assert.equal(draftOf('maya', 'thr_1'), 'Hello');
  assert.equal(draftOf('theo', 'thr_1'), '');
  saveDraft('maya', 'thr_1', '  ');
  assert.equal(draftOf('maya', 'thr_1'), '');
  stop();
  saveDraft('maya', 'thr_1', 'More');
  assert.deepEqual(told, ['thr_1', 'thr_1']);
});

test('of many drafts the oldest go', () => {
  let drafts = {};
  for (let n = 0; n < MOST_DRAFTS + 5; n += 1) drafts = withDraft(drafts, `thr_${n}`, 'text');
  assert.equal(Object.keys(drafts).length, MOST_DRAFTS);
  assert.ok(!('thr_4' in drafts) && 'thr_5' in drafts);
});

test('what is not a draft in the storage is ignored', () => {
  assert.deepEqual(parseDrafts('{"a":"text","b":7}'), { a: 'text' });
  for (const broken of [null, '', 'null', '[', '"x"']) assert.deepEqual(parseDrafts(broken), {});
});

test('length is counted as the server counts', () => {
  assert.equal(lengthOf('👩‍🎤'), 3);
  assert.equal(lengthOf('e\u0301'), 1);
  assert.equal(lengthOf('  a b \n'), 3);
});

test('an excerpt is the first words of a line', () => {
  assert.equal(excerptOf('at 5*4*3 snake_case_name'), 'at 5*4*3 snake_case_name');
  assert.equal(excerptOf('abcdef', 4), 'abc…');
  assert.equal(excerptOf('ab  cdef', 5), 'ab…');
});

test('emoji alone are drawn large', () => {
  for (const text of ['👍', '👩‍🎤 🎉', '🇩🇪', '👍🏽']) assert.ok(isEmojiOnly(text), text);
  for (const text of ['', '7', 'ok 👍', '#', '👍'.repeat(40)]) assert.ok(!isEmojiOnly(text), text);
});

test('only addresses of the web, of mail and of phones become links', () => {
  for (const href of ['https://x.example', 'http://x.example', 'mailto:a@b.example', 'tel:+441'])
    assert.ok(safeAddress(href), href);
  const scripts = ['javascript:alert(1)', ' java\nscript:alert(1)', 'vbscript:x'];
  const bad = [...scripts, 'data:text/html,x', '/app', 'file:///etc', ''];
  for (const href of bad) assert.equal(safeAddress(href), null, href);
});

test('a link that names another site than its own is told apart', () => {
  const evil = new URL('https://evil.example/login');
  const others = ['paypal.com', 'https://paypal.com/login', 'go to www.paypal.com', 'еvil.example'];
  for (const words of others) assert.ok(isDisguised(words, evil), words);
  const same = ['evil.example', 'https://www.evil.example/a/index.html', 'our page', 'Sign in'];
  for (const words of same) assert.ok(!isDisguised(words, evil), words);
  const named = 'https://paypal.com@evil.example';
  assert.ok(isDisguised(named, new URL(named)));
  assert.ok(!isDisguised('ada@studio.example', new URL('mailto:ada@studio.example')));
});

const thread = (more: Partial<Thread>, ...statuses: string[]): Thread =>
  ({
    kind: 'inquiry',
    locked: false,
    participants: statuses.map((status, index) => ({ user_id: `u${index}`, status })),
    ...more,
  }) as unknown as Thread;

test('where nobody can write, there is a reason', () => {
  assert.equal(whyClosed(thread({}, 'active', 'active'), 'u0'), null);
  assert.equal(whyClosed(thread({ locked: true }, 'active', 'active'), 'u0'), 'locked');
  assert.equal(whyClosed(thread({ kind: 'system' }, 'active'), 'u0'), 'system');
  assert.equal(whyClosed(thread({}, 'left', 'active'), 'u0'), 'gone');
  assert.equal(whyClosed(thread({}, 'blocked', 'active'), 'u0'), 'blocked');
  assert.equal(whyClosed(thread({}, 'active', 'left', 'left'), 'u0'), 'alone');
  assert.equal(whyClosed(thread({}, 'active', 'left', 'active'), 'u0'), null);
});

test('what can be done with a message depends on whose it is, and on time', () => {
  const message = {
    author_id: 'maya',
    kind: 'text',
    attachments: [] as Message['attachments'],
    deleted_at: null,
    created_at: new Date(0).toISOString(),
  } as Message;
  const maya = { userId: 'maya', nowMs: 59_999, canWrite: true, limits: { edit_window_s: 60 } };
  assert.deepEqual(actionsFor(message, maya), ['reply', 'copy', 'edit', 'delete']);
  const late = { ...maya, nowMs: 60_000 };
  assert.deepEqual(actionsFor(message, late), ['reply', 'copy', 'delete']);
  const withoutLimits = { ...late, limits: null };
  assert.deepEqual(actionsFor(message, withoutLimits), ['reply', 'copy', 'edit', 'delete']);
  assert.deepEqual(actionsFor(message, { ...maya, userId: 'theo' }), ['reply', 'copy']);
  assert.deepEqual(actionsFor({ ...message, deleted_at: 'now' }, maya), []);
  assert.deepEqual(actionsFor({ ...message, kind: 'card' }, maya), ['reply']);
  const withA = (media: string) => [{ file: { media } }] as Message['attachments'];
  const picture = { ...message, kind: 'asset', body: '', attachments: withA('image') } as const;
  assert.deepEqual(actionsFor(picture, maya), ['reply', 'edit', 'delete']);
  const voice = { ...picture, attachments: withA('audio') };
  assert.deepEqual(actionsFor(voice, maya), ['reply', 'delete']);
  const captioned = { ...picture, body: 'The roof' };
  assert.deepEqual(actionsFor(captioned, maya), ['reply', 'copy', 'edit', 'delete']);
  assert.equal(actionOfKey('e', message, maya), 'edit');
  assert.equal(actionOfKey('e', message, { ...maya, userId: 'theo' }), null);
});

test('reading is told seldom, never backwards, and again when it failed', async () => {
  const clock = new FakeClock();
  const said: string[] = [];
  let fails = false;
  const marks = new ReadMarks(clock, 'msg_2', async (id) => {
    said.push(id);
    if (fails) throw new Error('away');
  });
  for (const id of ['msg_1', 'msg_2', 'msg_3', 'msg_5', 'msg_4']) marks.see(id);
  clock.advance(0);
  assert.deepEqual(said, ['msg_5']);
  fails = true;
  marks.see('msg_6');
  clock.advance(500);
  assert.deepEqual(said, ['msg_5']);
  clock.advance(500);
  const answered = async (): Promise<void> => {
    for (let n = 0; n < 3; n += 1) await Promise.resolve();
  };
  await answered();
  clock.advance(1_999);
  assert.deepEqual(said, ['msg_5', 'msg_6']);
  clock.advance(1);
  await answered();
  fails = false;
  clock.advance(4_000);
  await answered();
  assert.deepEqual(said, ['msg_5', 'msg_6', 'msg_6', 'msg_6']);
  clock.advance(60_000);
  marks.known('msg_8');
  marks.see('msg_7');
  marks.see('msg_9');
  marks.stop();
  assert.deepEqual(said.slice(4), ['msg_9']);
});

test('a few new messages are read out, many are counted', () => {
  const clock = new FakeClock();
  const heard: string[] = [];
  const many = (count: number): string => `${count} new`;
  const voice = { say: (text: string) => heard.push(text), many };
  const arrivals = new Arrivals(clock, voice);
  arrivals.add('one');
  arrivals.add('two');
  clock.advance(1_000);
  for (const text of ['a', 'b', 'c', 'd']) arrivals.add(text);
  clock.advance(1_000);
  assert.deepEqual(heard, ['one', 'two', '4 new']);
});
