import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { FeedEvent, Placement } from '@greenroom/sdk';

import { FakeClock, settle } from '../../sdk/test/fakes.ts';
import { type Note, Notes } from '../src/inbox/notes.ts';

const ARCHIVED: Note = {
  text: 'Archived',
  undo: () => {},
  about: { threadId: 'thr_1', placement: 'archived' },
};

function told(placement: Placement, threadId = 'thr_1'): FeedEvent {
  return { type: 'inbox.changed', thread_id: threadId, inbox: { placement } } as FeedEvent;
}

function notes() {
  const clock = new FakeClock();
  const used = { now: false };
  return { clock, used, notes: new Notes(clock, { changed: () => {}, isUsed: () => used.now }) };
}

test('a note goes after a while, unless somebody is about to use it', async () => {
  const { clock, used, notes: said } = notes();
  said.say(ARCHIVED);
  used.now = true;
  await clock.advance(6_000);
  assert.equal(said.now, ARCHIVED);
  used.now = false;
  await clock.advance(6_000);
  assert.equal(said.now, null);
});

test('"Archived" goes when the thread is back, by an undo elsewhere or by a message', () => {
  const { notes: said } = notes();
  said.say(ARCHIVED);
  said.heard(told('archived'));
  said.heard(told('inbox', 'thr_2'));
  assert.equal(said.now, ARCHIVED);
  said.heard(told('inbox'));
  assert.equal(said.now, null);
});

test('it goes when the person is no longer in the thread', () => {
  const { notes: said } = notes();
  said.say(ARCHIVED);
  said.heard({ type: 'thread.changed', thread_id: 'thr_1' } as FeedEvent);
  assert.equal(said.now, null);
});

test('what the feed tells of before the deed does not end its note', async () => {
  const { notes: said } = notes();
  let answer = (): void => {};
  said.say(ARCHIVED, new Promise<void>((resolve) => (answer = resolve)));
  said.heard(told('inbox'));
  assert.equal(said.now, ARCHIVED);
  said.heard(told('archived'));
  answer();
  await settle();
  assert.equal(said.now, ARCHIVED);
});

test('what came back before the answer ends the note with the answer', async () => {
  const { notes: said } = notes();
  let answer = (): void => {};
  said.say(ARCHIVED, new Promise<void>((resolve) => (answer = resolve)));
  said.heard(told('archived'));
  said.heard(told('inbox'));
  answer();
  await settle();
  assert.equal(said.now, null);
});
