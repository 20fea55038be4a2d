/** Fills the list: asks for pages, hears of changes, and does what the person wants of a row. */

import type { FeedEvent, InboxEdit, InboxPage, InboxRow, Problem } from '@greenroom/sdk';

import type { Session } from '../session/session.ts';
import { countsOf } from './counts.ts';
import { isNamed, type Row, type View } from './folders.ts';
import { InboxList } from './list.ts';

type Client = Session['client'];
export type ListSession = Pick<Session, 'clock' | 'onReload' | 'userId'> & {
  client: Pick<Client, 'on' | 'inbox' | 'limits' | 'state'> & {
    rest: Pick<Client['rest'], 'inbox' | 'patchMe' | 'read' | 'thread'>;
  };
};

export type Loading = 'first' | 'next' | null;

/** Whoever has scrolled further finds the list at its end after a gap in the feed. */
const MOST_PAGES_AGAIN = 10;
/** Changes that only the server can judge are gathered for so long. */
const ASK_AFTER_MS = 1_000;

export class InboxSource {
  list: InboxList;
  loading: Loading = null;
  /** How far down the person has come: after a gap in the feed so many rows are asked for again. */
  rowsSeen = 0;
  /** Why the last page did not come. */
  problem: unknown = null;
  readonly #session: ListSession;
  readonly #changed: () => void;
  #timer: unknown = null;
  readonly #wanted = new Set<string>();
  #isFetching = false;
  #isStopped = false;

  constructor(session: ListSession, view: View, changed: () => void) {
    this.#session = session;
    this.#changed = changed;
    this.list = new InboxList(view);
  }

  /** Returns how to stop. */
  start(): () => void {
    const { client } = this.#session;
    const stops = [
      client.on('event', (event) => this.#heard(event)),
      client.on('begun', (page) => this.#begun(page)),
      client.on('change', () => this.#showStored()),
      client.on('connection', ({ state }) => {
        if (state !== 'live' && state !== 'polling') return;
        if (this.problem) void this.retry();
        void this.#fetch();
      }),
      this.#session.onReload(() => this.#reload()),
    ];
    this.show(this.list.view);
    return () => {
      this.#isStopped = true;
      this.#session.clock.clearTimeout(this.#timer);
      for (const stop of stops) stop();
    };
  }

  show(view: View): void {
    this.list = new InboxList(view);
    this.problem = null;
    this.#showStored();
    void this.#loadFirst();
  }

  loadNext(): void {
    if (this.loading === null && this.problem === null && this.list.nextCursor) {
      void this.#loadNext(this.list.nextCursor);
    }
  }

  retry(): Promise<void> {
    this.problem = null;
    if (!this.list.isLoaded) return this.#loadFirst();
    return this.list.nextCursor ? this.#loadNext(this.list.nextCursor) : Promise.resolve();
  }

  /** Shown at once; taken back, and thrown, if the server refuses it. */
  edit(row: Row, edit: InboxEdit): Promise<void> {
    return this.#change(
      row,
      (inbox) => edited(inbox, edit),
      () => this.#session.client.rest.patchMe(row.thread.id, edit),
    );
  }

  /** Up to the last message that the row knows: what comes meanwhile stays new. */
  markRead(row: Row): Promise<void> {
    const { id } = row.thread;
    const upTo = (this.list.find(id) ?? row).inbox.last_message?.id;
    if (upTo === undefined) return Promise.resolve();
    return this.#change(
      row,
      (inbox) => ({ ...inbox, unread_count: 0 }),
      () => this.#session.client.rest.read(id, upTo),
    );
  }

  async #change(
    { thread, inbox: known }: Row,
    after: (inbox: InboxRow) => InboxRow,
    ask: () => Promise<InboxRow>,
  ): Promise<void> {
    const { list } = this;
    const before = list.find(thread.id)?.inbox ?? known;
    this.#put({ thread, inbox: after(before) });
    const flight = list.flight();
    // What the feed has told meanwhile is newer, or tells of this too.
    const isLatest = (): boolean =>
      list.land(flight) && list === this.list && !flight.has(thread.id);
    try {
      const inbox = await ask();
      if (isLatest()) this.#put({ thread, inbox });
    } catch (error) {
      const told = this.#session.client.state.threads.get(thread.id)?.inbox;
      if (isLatest()) this.#put({ thread, inbox: told ?? before });
      throw error;
    }
  }

  /** Asks the server again without a word, where a change may have brought something in. */
  #askSoon(): void {
    const { clock } = this.#session;
    this.#timer ??= clock.setTimeout(() => {
      this.#timer = null;
      if (!this.#isStopped) void this.#loadAgain();
    }, ASK_AFTER_MS);
  }

  /** The list may have asked before the feed began, and events tell of later changes only. */
  #begun(page: InboxPage): void {
    if (!this.list.isLoaded) return;
    if (!isPlain(this.list.view)) return void this.#loadAgain();
    this.list.takeAgain(page, new Set());
    this.#changed();
  }

  /** As far as the person has scrolled, so that what they look at stays where it is. */
  async #reload(): Promise<void> {
    const { list } = this;
    list.groundAll();
    await this.#ask(
      list,
      undefined,
      (page, changed) => list.takeFirst(page, changed),
      () => this.#pageTo(list.view, this.rowsSeen),
    );
    this.problem = null;
    this.#changed();
  }

  /** The first page, and those after it up to this row, as one. */
  async #pageTo(view: View, row: number): Promise<InboxPage> {
    const page = { ...(await this.#page(view, undefined)) };
    for (let pages = 1; pages < MOST_PAGES_AGAIN; pages += 1) {
      if (page.next_cursor === null || page.items.length >= row) break;
      const next = await this.#page(view, page.next_cursor);
      page.items = [...page.items, ...next.items];
      page.next_cursor = next.next_cursor;
    }
    return page;
  }

  #loadFirst(): Promise<void> {
    const { list } = this;
    return this.#load(list, 'first', undefined, (page, changed) => list.takeFirst(page, changed));
  }

  #loadAgain(): Promise<void> {
    const { list } = this;
    return this.#load(list, null, undefined, (page, changed) => list.takeAgain(page, changed));
  }

  #loadNext(cursor: string): Promise<void> {
    const { list } = this;
    return this.#load(list, 'next', cursor, (page, changed) => list.takeNext(page, changed));
  }

  async #load(
    list: InboxList,
    loading: Loading,
    cursor: string | undefined,
    take: (page: InboxPage, changed: ReadonlySet<string>) => void,
  ): Promise<void> {
    if (loading) this.loading = loading;
    this.#changed();
    try {
      await this.#ask(list, cursor, take);
    } catch (error) {
      if (list === this.list && loading) this.problem = error;
    }
    if (list !== this.list) return;
    if (loading) this.loading = null;
    this.#changed();
  }

  /** An answer for a view that is left, or for a page that was overtaken, is not taken. */
  async #ask(
    list: InboxList,
    cursor: string | undefined,
    take: (page: InboxPage, changed: ReadonlySet<string>) => void,
    fetch = () => this.#page(list.view, cursor),
  ): Promise<void> {
    const flight = list.flight();
    const count = countsOf(this.#session).taker();
    try {
      const page = await fetch();
      count(page);
      const isOvertaken = cursor !== undefined && cursor !== list.nextCursor;
      const isWanted = list.land(flight) && list === this.list && !this.#isStopped;
      if (isWanted && !isOvertaken) take(page, flight);
    } catch (error) {
      if (list.land(flight)) throw error;
    }
  }

  #page(view: View, cursor: string | undefined): Promise<InboxPage> {
    const { client } = this.#session;
    if (cursor === undefined && isPlain(view)) return client.inbox();
    if (cursor === undefined) return client.rest.inbox(view);
    // Whoever scrolls on wants many rows: as many as the server gives at once.
    return client.rest.inbox({ ...view, limit: client.limits?.page, cursor });
  }

  #showStored(): void {
    if (this.list.isLoaded) return;
    const { client, userId } = this.#session;
    const { q } = this.list.view;
    const rows = [...client.state.threads.values()].flatMap(({ thread, inbox }) =>
      thread && inbox ? { thread, inbox } : [],
    );
    this.list.showStored(q ? rows.filter((row) => isNamed(row, q, userId)) : rows);
    this.#changed();
  }

  #heard(event: FeedEvent): void {
    const id = event.thread_id;
    if (id === undefined || event.type === 'reset') return;
    if (event.type === 'thread.changed' && !event.thread) {
      this.list.forget(id);
      this.#changed();
    } else if (event.thread || event.inbox) {
      this.#merge(id, event);
    }
  }

  #merge(id: string, event: FeedEvent): void {
    const shown = this.list.find(id);
    const known = this.#session.client.state.threads.get(id);
    const thread = event.thread ?? shown?.thread ?? known?.thread;
    const inbox = event.inbox ?? shown?.inbox ?? known?.inbox;
    if (thread && inbox) this.#put({ thread, inbox });
    else void this.#fetch(this.#wanted.add(id));
  }

  /** Threads of which only a part was told, and the rest is not known here: one after another.
   * What fails is tried again when there is a connection. */
  async #fetch(wanted = this.#wanted): Promise<void> {
    if (this.#isFetching) return;
    this.#isFetching = true;
    const { rest } = this.#session.client;
    try {
      for (const id of wanted) {
        await rest.thread(id).catch((error: unknown) => {
          if ((error as Problem).isTransient) throw error;
        });
        wanted.delete(id);
        // Not the answer itself: what the feed has told meanwhile is newer.
        const { thread, inbox } = this.#session.client.state.threads.get(id) ?? {};
        if (thread && inbox) this.#put({ thread, inbox });
      }
    } catch {
      // They are still wanted.
    }
    this.#isFetching = false;
  }

  #put(row: Row): void {
    if (!this.list.put(row)) this.#askSoon();
    this.#changed();
  }
}

/** The view that the client itself begins with. */
function isPlain(view: View): boolean {
  return view.folder === 'all' && Object.keys(view).length === 1;
}

/** As the server will answer, as far as it can be known here. */
function edited(inbox: InboxRow, { archived, pinned, starred, muted_until }: InboxEdit): InboxRow {
  const placement = archived === undefined ? inbox.placement : archived ? 'archived' : 'inbox';
  return {
    ...inbox,
    placement,
    pinned: pinned ?? inbox.pinned,
    starred: starred ?? inbox.starred,
    muted_until: muted_until === undefined ? inbox.muted_until : muted_until,
  };
}
