/** What one view of a thread has loaded, and keeps up to date. No drawing here. */

import type {
  InboxEdit,
  InboxRow,
  Message,
  Problem,
  Send,
  Thread,
  ThreadState,
} from '@greenroom/sdk';

import type { Session } from '../session/session.ts';
import {
  type Loaded,
  NOTHING,
  withCard,
  withFile,
  withLive,
  withNewest,
  withOlder,
} from './timeline.ts';

/** A message is looked for in at most so many pages. */
const MOST_PAGES_TO_SEARCH = 20;
/** What is stored is shown, and only the answer got lost. */
const AGAIN_MS = 5_000;

/** As much of a session as this takes. */
export type Source = Pick<Session, 'client' | 'clock' | 'onReload'>;

export type Status = 'loading' | 'ready' | 'missing' | 'failed';

export class Conversation {
  readonly threadId: string;
  status: Status = 'loading';
  problem: unknown = null;
  loaded: Loaded = NOTHING;
  sends: readonly Send[] = [];
  isLoadingOlder = false;
  olderFailed = false;
  /** Whether the newest page is in, not only what was stored. */
  isFresh = false;
  /** The last message that was read when this view opened; undefined until it is known. */
  unreadAfter: string | null | undefined = undefined;
  readonly #session: Source;
  readonly #changed: () => void;
  readonly #arrived: (message: Message) => void;
  #seen: ThreadState | undefined = undefined;
  #row: InboxRow | null = null;
  /** The last load: of one that was overtaken by a gap or by leaving, nothing is taken. */
  #turn = 0;
  #isAsking = false;
  #timer: unknown = null;
  #thread: Thread | null = null;
  #older: Promise<void> | null = null;

  constructor(
    session: Source,
    threadId: string,
    links: { changed: () => void; arrived: (message: Message) => void },
  ) {
    this.threadId = threadId;
    this.#session = session;
    this.#changed = links.changed;
    this.#arrived = links.arrived;
  }

  get state(): ThreadState | undefined {
    return this.#session.client.state.threads.get(this.threadId);
  }

  /** Stays while the client begins anew. */
  get thread(): Thread | null {
    return this.#thread;
  }

  /** The viewer's own row: what the last change of it answered, until the feed tells more. */
  get row(): InboxRow | null {
    return this.#row ?? this.state?.inbox ?? null;
  }

  /** Shows what is stored at once, and asks for what is new. Returns how to stop. */
  open(): () => void {
    const { client } = this.#session;
    const stops = [
      client.on('change', (id) => {
        if (id === null || id === this.threadId) this.#take();
      }),
      client.on('event', (event) => {
        if (event.thread_id !== this.threadId) return;
        if (event.type === 'thread.changed') this.#comeOrGo(Boolean(event.thread));
        if (event.card) this.#load(withCard(this.loaded, event.card));
        if (!event.message) return;
        const isNew = event.type === 'message.new';
        this.#load(withLive(this.loaded, [event.message], isNew));
        if (isNew) this.#arrived(event.message);
      }),
      client.on('file', (file) => this.#load(withFile(this.loaded, file))),
      client.on('send', (send) => {
        if (send.threadId !== this.threadId) return;
        // It stays in sight until the feed tells of it.
        if (send.message && this.isFresh) this.loaded = withLive(this.loaded, [send.message], true);
        this.listSends();
      }),
      client.on('connection', ({ state }) => {
        const isBack = state === 'live' || state === 'polling';
        if (isBack && !this.isFresh && this.status !== 'missing') void this.load();
      }),
      // After a gap nothing that was loaded can be trusted. The client tries again if this throws.
      this.#session.onReload(() => this.#fetch(true)),
    ];
    this.listSends();
    this.#take();
    void this.load();
    return () => {
      this.#session.clock.clearTimeout(this.#timer);
      stops.forEach((stop) => stop());
    };
  }

  async load(): Promise<void> {
    if (this.#isAsking) return;
    if (this.status !== 'ready') this.#become('loading');
    await this.#fetch(false).catch(() => {});
  }

  /** Both requests at once: one round trip. */
  async #fetch(isAnew: boolean): Promise<void> {
    const { rest } = this.#session.client;
    const turn = (this.#turn += 1);
    this.#isAsking = true;
    try {
      const [item, page] = await Promise.all([
        rest.thread(this.threadId),
        rest.messages(this.threadId),
      ]);
      if (turn !== this.#turn) return;
      // Another view, or this one before it was left, may have read what was stored as new.
      if (!this.isFresh && this.unreadAfter !== null) this.unreadAfter = undefined;
      this.#rememberUnread(item.inbox);
      this.isFresh = true;
      this.loaded = withNewest(isAnew ? NOTHING : this.loaded, page);
      this.#become('ready');
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
      throw error;
    } finally {
      if (turn === this.#turn) this.#isAsking = false;
    }
  }

  /** Whoever comes back sees what has been written since, and not what was before. */
  #comeOrGo(isIn: boolean): void {
    if (isIn === (this.status !== 'missing')) return;
    this.#turn += 1;
    this.isFresh = this.#isAsking = false;
    this.loaded = NOTHING;
    this.#become(isIn ? 'loading' : 'missing');
    if (isIn) void this.load();
  }

  /** One page at a time: whoever asks meanwhile waits for the same one. */
  loadOlder(): Promise<void> {
    this.#older ??= this.#fetchOlder().finally(() => (this.#older = null));
    return this.#older;
  }

  async #fetchOlder(): Promise<void> {
    const oldest = this.loaded.messages[0];
    if (!oldest || !this.loaded.hasOlder) return;
    this.isLoadingOlder = true;
    this.olderFailed = false;
    this.#changed();
    try {
      const query = { before: oldest.id };
      const page = await this.#session.client.rest.messages(this.threadId, query);
      // After a gap in the feed the list begins anew, and this page has no place in it.
      if (this.loaded.messages[0]?.id === oldest.id) this.loaded = withOlder(this.loaded, page);
    } catch {
      this.olderFailed = true;
    }
    this.isLoadingOlder = false;
    this.#changed();
  }

  has(messageId: string): boolean {
    return this.loaded.messages.some(({ id }) => id === messageId);
  }

  /** Loads older pages until the message is there. Whether it is. */
  async find(messageId: string): Promise<boolean> {
    for (let page = 0; page < MOST_PAGES_TO_SEARCH && !this.has(messageId); page += 1) {
      const before = this.loaded.messages[0]?.id;
      if (before === undefined || before < messageId) break;
      await this.loadOlder();
      if (this.loaded.messages[0]?.id === before) break;
    }
    return this.has(messageId);
  }

  /** The line over what is new goes when the person has answered. */
  forgetUnread(): void {
    this.unreadAfter = null;
    this.#changed();
  }

  listSends(): void {
    this.sends = this.#session.client.sends(this.threadId);
    this.#changed();
  }

  async patchRow(edit: InboxEdit): Promise<void> {
    const told = this.state?.inbox;
    const row = await this.#session.client.rest.patchMe(this.threadId, edit);
    // What the feed has told meanwhile is newer.
    if (told === this.state?.inbox) this.#row = row;
    this.#changed();
  }

  #take(): void {
    const state = this.state;
    if (state === this.#seen) return;
    if (state?.inbox !== this.#seen?.inbox) this.#row = null;
    this.#seen = state;
    if (!state) return this.#changed();
    // What is stored may be of before the last messages: that nothing is new, the server says.
    if (state.inbox?.unread_count) this.#rememberUnread(state.inbox);
    this.#thread = state.thread ?? this.#thread;
    if (this.status === 'loading' && state.thread && state.messages.length > 0) {
      this.status = 'ready';
    }
    this.loaded = withLive(this.loaded, state.messages, true);
    this.#changed();
  }

  #rememberUnread({ unread_count, last_read }: InboxRow): void {
    if (this.unreadAfter !== undefined) return;
    this.unreadAfter = unread_count > 0 ? (last_read?.message_id ?? '') : null;
  }

  #fail(problem: unknown): void {
    this.problem = problem;
    const { status } = problem as Partial<Problem>;
    if (status === 404 || status === 403) return this.#become('missing');
    if (this.status === 'loading') return this.#become('failed');
    const { client, clock } = this.#session;
    // Without a connection, the next one asks.
    if (!this.isFresh && client.connection.transport) {
      this.#timer = clock.setTimeout(() => void this.load(), AGAIN_MS);
    }
  }

  #load(loaded: Loaded): void {
    if (loaded === this.loaded) return;
    this.loaded = loaded;
    this.#changed();
  }

  #become(status: Status): void {
    this.status = status;
    this.#changed();
  }
}
