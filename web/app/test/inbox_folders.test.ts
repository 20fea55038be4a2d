import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Folder } from '@greenroom/sdk';

import {
  belongs,
  compareRows,
  countedIn,
  FOLDERS,
  isInFolder,
  type Row,
} from '../src/inbox/folders.ts';
import { row } from './inbox_things.ts';

function foldersOf(one: Row): Folder[] {
  return FOLDERS.filter((folder) => isInFolder(one, folder));
}

test('an inquiry and an invitation are offers, a project is a booking', () => {
  assert.deepEqual(foldersOf(row('a', 1)), ['all', 'offers']);
  assert.deepEqual(foldersOf(row('a', 1, {}, { kind: 'invite' })), ['all', 'offers']);
  assert.deepEqual(foldersOf(row('a', 1, {}, { kind: 'project' })), ['all', 'bookings']);
  assert.deepEqual(foldersOf(row('a', 1, {}, { kind: 'support' })), ['all']);
});

test('what needs the person is in that folder too, as long as it is in the inbox', () => {
  assert.deepEqual(foldersOf(row('a', 1, { needs_action: true })), ['all', 'action', 'offers']);
  const archived = row('a', 1, { needs_action: true, placement: 'archived' });
  assert.deepEqual(foldersOf(archived), ['archived']);
});

test('requests, the archive and spam are by themselves', () => {
  for (const placement of ['requests', 'archived', 'spam'] as const) {
    assert.deepEqual(foldersOf(row('a', 1, { placement }, { kind: 'project' })), [placement]);
  }
});

test('every filter must fit', () => {
  const one = row('a', 1, { unread_count: 2, state: 'open' }, { city: 'Leeds' });
  assert.equal(belongs(one, { folder: 'all', unread: true, kind: 'inquiry', city: 'Leeds' }), true);
  assert.equal(belongs(one, { folder: 'all', unread: true, starred: true }), false);
  assert.equal(belongs(one, { folder: 'all', unread: false }), false);
  assert.equal(belongs(one, { folder: 'all', state: 'confirmed' }), false);
  assert.equal(belongs(one, { folder: 'all', role_context: 'model' }), false);
});

test('what a search finds is only known to the server, what it cannot find is known here', () => {
  const one = row('a', 1);
  assert.equal(belongs(one, { folder: 'all', q: 'theo' }), 'unsure');
  assert.equal(belongs(one, { folder: 'spam', q: 'theo' }), false);
  assert.equal(belongs(one, { folder: 'all', q: 'theo', unread: true }), false);
});

test('pinned rows come first, then the latest, then the higher id', () => {
  const rows = [row('a', 5), row('b', 9), row('c', 5), row('d', 1, { pinned: true })];
  const ids = rows.sort(compareRows).map(({ thread }) => thread.id);
  assert.deepEqual(ids, ['d', 'b', 'c', 'a']);
});

test('a thread without a message stands where it was started', () => {
  const silent = row('a', 0, { last_message_at: null }, { created_at: '2026-11-16T09:03:00.000Z' });
  const ids = [row('b', 2), silent, row('c', 4)].sort(compareRows).map((each) => each.thread.id);
  assert.deepEqual(ids, ['c', 'a', 'b']);
});

test('a thread counts as unread in each of its folders', () => {
  assert.deepEqual(countedIn(row('a', 1)), []);
  const unread = row('a', 1, { unread_count: 1, needs_action: true }, { kind: 'project' });
  assert.deepEqual(countedIn(unread), ['all', 'action', 'bookings']);
});

test('a decision that waits is counted until it is made, though all is read', () => {
  const read = row('a', 1, { unread_count: 0, needs_action: true }, { kind: 'project' });
  assert.deepEqual(countedIn(read), ['action']);
  const archived = row('a', 1, { needs_action: true, placement: 'archived' });
  assert.deepEqual(countedIn(archived), []);
});
