import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Send } from '../src/queue.js';
import { UserStore } from '../src/user_store.js';
import { applyEvent, EMPTY, type State } from '../src/state.js';
import { localStorageAdapter, memoryStorage, type Storage } from '../src/storage.js';
import { FakeClock, settle } from './fakes.js';
import { event, message } from './things.js';

function shelf(storage: Storage, clock = new FakeClock(), complaints: unknown[] = []): UserStore {
  return new UserStore(storage, clock, (error) => complaints.push(error));
}

function stateOf(...threadIds: string[]): State {
  return threadIds.reduce(
    (state, id) =>
      applyEvent(
        state,
        event('message.new', { thread_id: id, message: message(1, { thread_id: id }) }),
      ),
    EMPTY,
  );
}

function send(clientId: string, state: Send['state'] = 'queued'): Send {
  return { clientId, threadId: 'thr_1', body: 'Hello', queuedAtMs: 0, state };
}

/** A storage that shows what is in it. */
class Glass implements Storage {
  readonly kept = new Map<string, string>();
  readonly written: string[] = [];
  fails = (_key: string): boolean => false;

  get(key: string): string | null {
    return this.kept.get(key) ?? null;
  }

  set(key: string, text: string): void {
    if (this.fails(key)) throw new Error('quota');
    this.written.push(key);
    this.kept.set(key, text);
  }

  remove(key: string): void {
    this.kept.delete(key);
  }
}

test('the place in the feed and the threads outlive the page', async () => {
  const storage = memoryStorage();
  const before = shelf(storage);
  await before.open('ben');
  before.keep({ cursor: 'e-7', isLoaded: true, state: stateOf('thr_1', 'thr_2') });
  await before.flush();
  const { kept } = await shelf(storage).open('ben');
  assert.deepEqual(kept, { cursor: 'e-7', isLoaded: true, state: stateOf('thr_1', 'thr_2') });
});

test('changes are written together, soon', async () => {
  const [glass, clock] = [new Glass(), new FakeClock()];
  const kept = shelf(glass, clock);
  await kept.open('ben');
  kept.start();
  const state = stateOf('thr_1');
  for (const cursor of ['e-1', 'e-2', 'e-3']) kept.keep({ cursor, isLoaded: true, state });
  await clock.advance(249);
  assert.deepEqual(glass.written, []);
  await clock.advance(1);
  assert.deepEqual(glass.written, ['ben.threads', 'ben.thread.thr_1', 'ben.feed']);
  kept.keep({ cursor: 'e-4', isLoaded: true, state });
  await kept.flush();
  assert.deepEqual(glass.written.slice(3), ['ben.feed']);
});

test('the last fifty threads are stored, and those before are removed', async () => {
  const glass = new Glass();
  const kept = shelf(glass);
  await kept.open('ben');
  kept.start();
  const ids = Array.from({ length: 60 }, (_, index) => `thr_${index}`);
  for (const known of [ids.slice(0, 50), ids]) {
    kept.keep({ cursor: 'e-1', isLoaded: true, state: stateOf(...known) });
    await kept.flush();
  }
  const stored = [...glass.kept.keys()].filter((key) => key.startsWith('ben.thread.'));
  assert.deepEqual(
    stored.sort(),
    ids
      .slice(10)
      .map((id) => `ben.thread.${id}`)
      .sort(),
  );
});

test('when the storage is full the next start loads anew, not from half', async () => {
  const [glass, complaints]: [Glass, unknown[]] = [new Glass(), []];
  const kept = shelf(glass, new FakeClock(), complaints);
  await kept.open('ben');
  kept.start();
  kept.keep({ cursor: 'e-1', isLoaded: true, state: stateOf('thr_1') });
  await kept.flush();
  glass.fails = (key) => key.includes('thread');
  kept.keep({ cursor: 'e-2', isLoaded: true, state: stateOf('thr_1', 'thr_2') });
  await kept.flush();
  assert.equal(complaints.length, 1);
  assert.equal((await shelf(glass).open('ben')).kept, null);
});

test('a page that dies between two writes goes on from the older place', async () => {
  const glass = new Glass();
  const kept = shelf(glass);
  await kept.open('ben');
  kept.start();
  kept.keep({ cursor: 'e-1', isLoaded: true, state: stateOf('thr_1') });
  await kept.flush();
  const dying: Storage = {
    get: (key) => glass.get(key),
    set: (key, text) => (key.includes('feed') ? new Promise(() => {}) : glass.set(key, text)),
    remove: (key) => glass.remove(key),
  };
  const second = shelf(dying);
  await second.open('ben');
  second.keep({ cursor: 'e-2', isLoaded: true, state: stateOf('thr_1', 'thr_2') });
  void second.flush();
  await settle();
  assert.equal((await shelf(glass).open('ben')).kept?.cursor, 'e-1');
});

test('what another version wrote, or what is broken, is not read', async () => {
  const glass = new Glass();
  for (const text of ['{"form": 99}', 'not json', '{"form": 1, "threads": ["thr_gone"]}']) {
    glass.set('ben.feed', text);
    assert.equal((await shelf(glass).open('ben')).kept, null, text);
  }
});

test('sends outlive the page; one that was under way waits again', async () => {
  const storage = memoryStorage();
  const kept = shelf(storage);
  await kept.open('ben');
  kept.start();
  await kept.saveSends(() => [send('a', 'sending'), send('b'), send('c', 'failed')]);
  const { sends } = await shelf(storage).open('ben');
  const states = sends.map((each) => `${each.clientId} ${each.state}`);
  assert.deepEqual(states, ['a queued', 'b queued', 'c failed']);
});

test('sends of before are not overwritten by one that comes before they were read', async () => {
  const glass = new Glass();
  glass.set('ben.sends', JSON.stringify([send('old')]));
  const kept = shelf(glass);
  const all: Send[] = [send('new')];
  void kept.saveSends(() => all);
  await settle();
  assert.deepEqual(JSON.parse(glass.get('ben.sends') ?? ''), [send('old')]);
  const { sends } = await kept.open('ben');
  await settle();
  assert.deepEqual(JSON.parse(glass.get('ben.sends') ?? ''), [send('old')]);
  all.unshift(...sends);
  kept.start();
  await settle();
  assert.deepEqual(JSON.parse(glass.get('ben.sends') ?? ''), [send('old'), send('new')]);
});

test('who uses the same browser next sees nothing of it', async () => {
  const storage = memoryStorage();
  const kept = shelf(storage);
  await kept.open('ben');
  kept.start();
  kept.keep({ cursor: 'e-1', isLoaded: true, state: stateOf('thr_1') });
  await kept.saveSends(() => [send('a')]);
  await kept.flush();
  assert.deepEqual(await shelf(storage).open('mia'), { kept: null, sends: [] });
});

test('nothing stays of who logs out', async () => {
  const glass = new Glass();
  const kept = shelf(glass);
  await kept.open('ben');
  kept.start();
  kept.keep({ cursor: 'e-1', isLoaded: true, state: stateOf('thr_1') });
  await kept.saveSends(() => [send('a')]);
  await kept.flush();
  await kept.clear();
  assert.deepEqual([...glass.kept.keys()], []);
});

test('localStorage keeps it under a prefix', () => {
  const items = new Map<string, string>();
  const adapter = localStorageAdapter('chat', {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, text) => void items.set(key, text),
    removeItem: (key) => void items.delete(key),
  });
  void adapter.set('feed', '1');
  assert.deepEqual([[...items], adapter.get('feed')], [[['chat.feed', '1']], '1']);
  void adapter.remove('feed');
  assert.equal(adapter.get('feed'), null);
});
