/** Pages of one browser, one after another: each may die at any moment, the storage stays. */

import assert from 'node:assert/strict';

import { Greenroom } from '../src/client.js';
import type { Options } from '../src/options.js';
import type { Send } from '../src/queue.js';
import { MESSAGES_KEPT, type ThreadState } from '../src/state.js';
import type { Storage } from '../src/storage.js';
import type { FeedEvent } from '../src/types.js';
import { jwt } from './fakes.js';
import type { Weather } from './weather.js';
import { OTHER, OWN, type Home, type World } from './world.js';

/** A storage that takes its time, and may have no room. */
export class Cupboard {
  readonly kept = new Map<string, string>();
  /** How many of the writes fail, from 0 to 1. */
  fullness = 0;
  readonly #weather: Weather;

  constructor(weather: Weather) {
    this.#weather = weather;
  }

  /** As one page sees it: nothing that a dead page does arrives. */
  for(isAlive: () => boolean): Storage {
    const turn = async (isWrite: boolean): Promise<void> => {
      await this.#weather.wait(Math.floor(this.#weather.random() * 40));
      if (!isAlive()) await new Promise(() => {});
      if (isWrite && this.#weather.random() < this.fullness) throw new Error('no room');
    };
    return {
      get: async (key) => (await turn(false), this.kept.get(key) ?? null),
      set: async (key, text) => (await turn(true), void this.kept.set(key, text)),
      remove: async (key) => (await turn(true), void this.kept.delete(key)),
    };
  }

  get sends(): Send[] {
    return JSON.parse(this.kept.get(`${OWN}.sends`) ?? '[]') as Send[];
  }
}

export class Page {
  readonly client: Greenroom;
  /** Since the last reset. */
  told: FeedEvent[] = [];
  readonly sent: string[] = [];
  /** Threads whose newest page was answered, and of which nothing was forgotten since. */
  readonly full = new Set<string>();
  isAlive = true;
  /** Grows whenever something is forgotten. */
  #forgotten = 0;
  readonly #reloads = new Set<() => Promise<void> | void>();

  constructor(weather: Weather, cupboard: Cupboard, name: string, options: Partial<Options> = {}) {
    let ids = 0;
    this.client = new Greenroom({
      url: 'http://greenroom.test',
      token: () => jwt({ sub: OWN, exp: weather.clock.now() / 1000 + 36_000 }),
      storage: cupboard.for(() => this.isAlive),
      clock: weather.clock,
      random: weather.random,
      randomId: () => `${name}-${(ids += 1)}`,
      fetch: (input: unknown, init?: RequestInit) =>
        this.isAlive ? weather.fetch(input, init) : new Promise(() => {}),
      WebSocket: weather.WebSocket,
      reload: () => this.#reload(),
      ...options,
    });
    this.client.on('event', (event) => {
      this.told.push(event);
      const isGone = event.type === 'thread.changed' && !event.thread;
      if (isGone && event.thread_id) this.full.delete(event.thread_id);
      if (isGone) this.#forgotten += 1;
    });
    void this.client.connect();
  }

  send(threadId: string, body: string): void {
    this.sent.push(this.client.send(threadId, body).clientId);
  }

  /** Asks for the newest messages, as a page does that shows the thread. */
  async ask(threadId: string): Promise<void> {
    const before = this.#forgotten;
    const answers = [this.client.rest.thread(threadId), this.client.rest.messages(threadId)];
    await Promise.all(answers);
    if (before === this.#forgotten && this.client.connection.state !== 'closed') {
      this.full.add(threadId);
    }
  }

  readonly onReload = (reload: () => Promise<void> | void): (() => void) => {
    this.#reloads.add(reload);
    return () => this.#reloads.delete(reload);
  };

  async #reload(): Promise<void> {
    this.#forgotten += 1;
    this.full.clear();
    this.told = [];
    await Promise.all([...this.#reloads].map((reload) => reload()));
  }

  /** The browser is closed: whatever was under way is not finished. */
  die(): void {
    this.isAlive = false;
    void this.client.close();
  }
}

/** What the client knows is what the server holds. */
export function checkState({ client, full }: Page, world: World): void {
  for (const [id, known] of client.state.threads) {
    const home = world.homes.get(id);
    assert.ok(home?.isIn, `nothing of ${id} stays`);
    checkThread(known, home, world);
  }
  for (const home of world.homes.values()) {
    const known = client.state.threads.get(home.id);
    if (home.isIn && !home.edit.archived) assert.ok(known?.inbox, `${home.id} has a row`);
    if (!full.has(home.id) || !home.isIn) continue;
    const most = Math.min(MESSAGES_KEPT, world.visible(home).length);
    assert.equal(known?.messages.length, most, `all of ${home.id} is kept`);
  }
}

function checkThread(known: ThreadState, home: Home, world: World): void {
  if (known.inbox) assert.deepEqual(known.inbox, world.row(home), `the row of ${home.id}`);
  const count = known.messages.length;
  const newest = count === 0 ? [] : world.visible(home).slice(-count);
  const name = `the messages of ${home.id}`;
  assert.deepEqual(known.messages.map(formOf), newest.map(formOf), name);
  if (!known.thread) return;
  assert.equal(known.thread.subject, home.subject, `the subject of ${home.id}`);
  const marks = { read: home.marks.read, delivered: home.marks.delivered };
  const seen = known.marks[OTHER] ?? {};
  const shown = { read: seen.read ?? null, delivered: seen.delivered ?? null };
  assert.deepEqual(shown, marks, `the marks of ${home.id}`);
}

function formOf({ id, body, deleted_at, card }: ThreadState['messages'][number]): string {
  return [id, body, deleted_at, card?.version].join(' ');
}

/** Each event once, in order, and none left out. */
export function checkTold(told: readonly FeedEvent[], world: World): void {
  const steady = new Set(world.steady);
  const [epoch] = world.cursor.split('-');
  const cursors = told
    .map(({ cursor }) => cursor)
    .filter((cursor) => cursor.startsWith(`${epoch}-`));
  const numbers = cursors.map((cursor) => Number(cursor.split('-')[1]));
  const inOrder = [...new Set(numbers)].sort((one, other) => one - other);
  assert.deepEqual(numbers, inOrder, 'each event once and in order');
  const from = numbers[0] ?? Infinity;
  const due = [...steady].filter((cursor) => Number(cursor.split('-')[1]) >= from);
  const missed = due.filter((cursor) => !cursors.includes(cursor));
  assert.deepEqual(missed, [], 'no event is left out');
}

/** Whoever reads the storage finds nothing of threads that were left. */
export function checkStored({ kept }: Cupboard, world: World): void {
  for (const key of kept.keys()) {
    const [, noun, id = ''] = key.split('.');
    if (noun === 'thread') assert.ok(world.homes.get(id)?.isIn, `${id} is not stored any more`);
  }
}
