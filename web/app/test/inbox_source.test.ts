import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { FeedEvent, InboxEdit, InboxPage, InboxQuery, InboxRow } from '@greenroom/sdk';

import { Counts, countsOf } from '../src/inbox/counts.ts';
import { type Row, type View, countedIn } from '../src/inbox/folders.ts';
import { InboxSource, type ListSession } from '../src/inbox/source.ts';
import { Steady } from '../src/inbox/steady.ts';
import { row } from './inbox_things.ts';

/** Time stands still until a test moves it. */
class Clock {
  #nowMs = 0;
  #timers: { atMs: number; run: () => void }[] = [];
  now = (): number => this.#nowMs;
  setTimeout = (run: () => void, delayMs: number): object => {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.push(timer);
    return timer;
  };
  clearTimeout = (timer: unknown): void => {
    this.#timers = this.#timers.filter((each) => each !== timer);
  };

  async advance(byMs: number): Promise<void> {
    this.#nowMs += byMs;
    const due = this.#timers.filter((each) => each.atMs <= this.#nowMs);
    this.#timers = this.#timers.filter((each) => each.atMs > this.#nowMs);
    for (const { run } of due) run();
    await settled();
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A server that holds rows, and a client that tells of them. */
class Desk {
  rows: Row[] = [];
  stored: Row[] = [];
  asked: InboxQuery[] = [];
  failure: Error | null = null;
  readonly clock = new Clock();
  readonly #handlers = new Map<string, ((value: never) => void)[]>();
  readonly #reloads: (() => Promise<void> | void)[] = [];
  readonly session: ListSession;

  constructor(...rows: Row[]) {
    this.rows = rows;
    const desk = this;
    const client = {
      on: (name: string, handler: (value: never) => void) => {
        const handlers = this.#handlers.get(name) ?? [];
        this.#handlers.set(name, [...handlers, handler]);
        return () => {};
      },
      get state() {
        return {
          threads: new Map(
            desk.stored.map((each) => [each.thread.id, { ...each, messages: [], marks: {} }]),
          ),
        };
      },
      inbox: () => this.#inbox({}),
      rest: {
        inbox: (query: InboxQuery) => this.#inbox(query),
        thread: async (id: string) => {
          const found = this.rows.filter((each) => each.thread.id === id);
          this.stored.push(...found);
          return found[0];
        },
        patchMe: (id: string, edit: InboxEdit) => this.#patch(id, edit),
      },
    };
    const onReload = (reload: () => Promise<void> | void): (() => void) => {
      this.#reloads.push(reload);
      return () => {};
    };
    const { clock } = this;
    this.session = { client, clock, onReload, userId: 'maya' } as unknown as ListSession;
  }

  async #inbox(query: InboxQuery): Promise<InboxPage> {
    this.asked.push(query);
    if (this.failure) throw this.failure;
    const from = Number(query.cursor ?? 0);
    const to = from + 2;
    const counts = { all: 0, action: 0, bookings: 0, offers: 0, requests: 0, archived: 0, spam: 0 };
    for (const each of this.rows) for (const folder of countedIn(each)) counts[folder] += 1;
    return {
      items: this.rows.slice(from, to),
      next_cursor: to < this.rows.length ? String(to) : null,
      counts,
      sync_cursor: 'e-1',
    };
  }

  async #patch(id: string, edit: InboxEdit): Promise<InboxRow> {
    if (this.failure) throw this.failure;
    const found = this.rows.find((each) => each.thread.id === id) as Row;
    return { ...found.inbox, ...(edit.pinned === undefined ? {} : { pinned: edit.pinned }) };
  }

  tell(event: Partial<FeedEvent>): void {
    this.emit('event', { cursor: 'e-2', at: '', ...event });
  }

  emit(name: string, value: unknown): void {
    for (const handler of this.#handlers.get(name) ?? []) handler(value as never);
  }

  /** The client has its first page, and goes on from there. */
  async begin(): Promise<void> {
    this.emit('begun', await this.#inbox({}));
    await settled();
  }

  async reload(): Promise<void> {
    for (const reload of this.#reloads) await reload();
  }

  async open(view: View = { folder: 'all' }): Promise<InboxSource> {
    const source = new InboxSource(this.session, view, () => {});
    source.start();
    await settled();
    return source;
  }
}

function ids(source: InboxSource): string {
  return source.list.rows.map((each) => each.thread.id).join('');
}

test('one request brings the first page, and each next page comes once', async () => {
  const desk = new Desk(row('a', 9), row('b', 8), row('c', 7));
  const source = await desk.open();
  assert.deepEqual([ids(source), desk.asked.length], ['ab', 1]);
  source.loadNext();
  source.loadNext();
  await settled();
  source.loadNext();
  await settled();
  assert.deepEqual([ids(source), desk.asked.length], ['abc', 2]);
});

test('what came in before the feed began is shown, in whichever folder', async () => {
  for (const view of [{ folder: 'all' }, { folder: 'all', unread: true }] as const) {
    const desk = new Desk(row('a', 8, { unread_count: 1 }));
    const counts = countsOf(desk.session);
    counts.onChange(() => {});
    const source = await desk.open(view);
    desk.rows = [row('b', 9, { unread_count: 1 }), ...desk.rows];
    assert.deepEqual([ids(source), counts.now?.all], ['a', 1]);
    await desk.begin();
    assert.deepEqual([ids(source), counts.now?.all], ['ba', 2]);
  }
});

test('what is stored is shown while nothing answers, and the rest when it does', async () => {
  const desk = new Desk(row('a', 9), row('b', 8));
  desk.stored = [row('b', 8)];
  desk.failure = new Error('away');
  const source = await desk.open();
  assert.deepEqual([ids(source), source.problem, source.loading], ['b', desk.failure, null]);
  desk.failure = null;
  desk.emit('connection', { state: 'live' });
  await settled();
  assert.deepEqual([ids(source), source.problem], ['ab', null]);
});

test('a search shows what this device knows, and then what the server finds', async () => {
  const desk = new Desk(row('a', 9), row('b', 8));
  desk.stored = [row('a', 9), row('c', 7, {}, { subject: 'Menu' })];
  desk.failure = new Error('away');
  const source = await desk.open({ folder: 'all', q: 'MENU' });
  assert.equal(ids(source), 'c');
  source.show({ folder: 'all', q: 'maya' });
  assert.equal(ids(source), '');
  desk.failure = null;
  await source.retry();
  assert.equal(ids(source), 'ab');
});

test('an event moves a row; one of an unknown thread fetches it', async () => {
  const desk = new Desk(row('a', 9), row('b', 8));
  const source = await desk.open();
  const { inbox } = row('b', 20);
  desk.tell({ type: 'inbox.changed', thread_id: 'b', inbox });
  assert.equal(ids(source), 'ba');
  desk.rows.push(row('n', 30));
  desk.tell({ type: 'inbox.changed', thread_id: 'n', inbox: row('n', 30).inbox });
  await settled();
  assert.equal(ids(source), 'nba');
  desk.tell({ type: 'thread.changed', thread_id: 'b' });
  assert.equal(ids(source), 'na');
});

test('a search asks the server again, once, when something else has changed', async () => {
  const desk = new Desk(row('a', 9));
  const source = await desk.open({ folder: 'all', q: 'look' });
  desk.rows = [row('n', 30), row('a', 9)];
  desk.tell({ type: 'message.new', thread_id: 'n', ...row('n', 30) });
  desk.tell({ type: 'message.new', thread_id: 'm', ...row('m', 31) });
  assert.equal(ids(source), 'a');
  await desk.clock.advance(1_000);
  assert.deepEqual([ids(source), desk.asked.length], ['na', 2]);
});

test('an answer for a view that was left is not shown', async () => {
  const desk = new Desk(row('a', 9), row('b', 8));
  const source = await desk.open();
  source.show({ folder: 'all', q: 'x' });
  desk.rows = [row('s', 1, { placement: 'spam' })];
  source.show({ folder: 'spam' });
  await settled();
  assert.deepEqual([ids(source), source.list.view.folder, source.loading], ['s', 'spam', null]);
});

test('what a person does with a row is seen at once, and taken back if it fails', async () => {
  const desk = new Desk(row('a', 9), row('b', 8));
  const source = await desk.open();
  const [, b] = source.list.rows as [Row, Row];
  const pinned = source.edit(b, { pinned: true });
  assert.equal(ids(source), 'ba');
  await pinned;
  assert.equal(ids(source), 'ba');
  desk.failure = new Error('away');
  const archived = source.edit(b, { archived: true });
  assert.equal(ids(source), 'a');
  await assert.rejects(archived);
  assert.equal(ids(source), 'ba');
});

test('what changed during an edit stays when the edit is taken back', async () => {
  const desk = new Desk(row('a', 9));
  const source = await desk.open();
  desk.failure = new Error('away');
  const starred = source.edit(source.list.rows[0] as Row, { starred: true });
  const { inbox: told } = row('a', 9, { unread_count: 3 });
  desk.tell({ type: 'inbox.changed', thread_id: 'a', inbox: told });
  await assert.rejects(starred);
  const { inbox } = source.list.rows[0] as Row;
  assert.deepEqual([inbox.starred, inbox.unread_count], [false, 3]);
});

test('after a gap in the feed everything is loaded anew', async () => {
  const desk = new Desk(row('a', 9), row('b', 8));
  const source = await desk.open();
  desk.rows = [row('c', 9)];
  await desk.reload();
  assert.equal(ids(source), 'c');
});

test('after a gap the list comes back as far down as somebody has scrolled', async () => {
  const rows = Array.from('abcdefgh').map((id, index) => row(id, 50 - index));
  const desk = new Desk(...rows);
  const source = await desk.open();
  source.rowsSeen = 5;
  desk.rows = rows.slice(1);
  await desk.reload();
  assert.equal(ids(source), 'bcdefg');
  source.loadNext();
  await settled();
  assert.equal(ids(source), 'bcdefgh');
});

test('after a gap nobody waits for more than a few pages', async () => {
  const desk = new Desk(...Array.from({ length: 60 }, (_, index) => row(`t${index}`, 59 - index)));
  const source = await desk.open();
  source.rowsSeen = 60;
  desk.asked = [];
  await desk.reload();
  assert.deepEqual([desk.asked.length, source.list.rows.length], [10, 20]);
});

test('unread threads are counted at once, and corrected by the server later', async () => {
  const desk = new Desk(row('a', 9, { unread_count: 1 }), row('b', 8));
  const counts = new Counts(desk.session);
  const stop = counts.onChange(() => {});
  await settled();
  assert.deepEqual([counts.now?.all, counts.now?.offers], [1, 1]);
  desk.tell({ type: 'message.new', thread_id: 'b', ...row('b', 10, { unread_count: 1 }) });
  assert.equal(counts.now?.all, 2);
  desk.tell({ type: 'inbox.changed', thread_id: 'b', ...row('b', 10, { unread_count: 2 }) });
  assert.equal(counts.now?.all, 2);
  desk.rows = [];
  await desk.clock.advance(10_000);
  assert.equal(counts.now?.all, 0);
  assert.equal(desk.asked.length, 2);
  stop();
});

test('a thread that was never seen is counted by the server', async () => {
  const desk = new Desk(row('a', 9));
  const counts = countsOf(desk.session);
  counts.onChange(() => {});
  await settled();
  desk.rows = [row('n', 20, { unread_count: 1 }), row('a', 9)];
  desk.tell({ type: 'message.new', thread_id: 'n', ...row('n', 20, { unread_count: 1 }) });
  assert.equal(counts.now?.all, 0);
  await desk.clock.advance(1_000);
  assert.equal(counts.now?.all, 1);
});

test('what does not last is not told', async () => {
  const clock = new Clock();
  const told: string[] = [];
  const steady = new Steady<string>(clock, 2_000, (value) => told.push(value));
  steady.now('live');
  steady.set('reconnecting');
  await clock.advance(1_900);
  steady.set('live');
  await clock.advance(5_000);
  steady.set('offline');
  steady.set('offline');
  await clock.advance(2_000);
  assert.deepEqual(told, ['live', 'offline']);
});

test('an edit whose answer gets lost is not taken back once the feed has told of it', async () => {
  const desk = new Desk(row('a', 9), row('b', 8));
  desk.stored = desk.rows;
  const source = await desk.open();
  desk.failure = new Error('lost');
  const archived = source.edit(source.list.rows[1] as Row, { archived: true });
  const { inbox } = row('b', 8, { placement: 'archived' });
  desk.tell({ type: 'inbox.changed', thread_id: 'b', inbox });
  await assert.rejects(archived);
  assert.equal(ids(source), 'a');
});

test('the answer to an edit does not undo what the feed has told since', async () => {
  const desk = new Desk(row('a', 9));
  const source = await desk.open();
  const pinned = source.edit(source.list.rows[0] as Row, { pinned: true });
  const { inbox } = row('a', 9, { pinned: true, unread_count: 3 });
  desk.tell({ type: 'inbox.changed', thread_id: 'a', inbox });
  await pinned;
  assert.equal(source.list.rows[0]?.inbox.unread_count, 3);
});
