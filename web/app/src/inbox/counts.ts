/** How many threads have something unread, per folder, and how many wait for a decision; shared by
 * all elements of a page. */

import type { FeedEvent, Folder, InboxPage, InboxRow } from '@greenroom/sdk';

import type { Session } from '../session/session.ts';
import { countedIn } from './folders.ts';

export type InboxCounts = Readonly<Record<Folder, number>>;
export type CountingSession = Pick<Session, 'clock' | 'onReload'> & {
  client: Pick<Session['client'], 'on' | 'inbox' | 'state'> & {
    rest: Pick<Session['client']['rest'], 'inbox'>;
  };
};

/** What changed is counted here at once; the server's own count corrects it a little later. */
const CORRECT_AFTER_MS = 10_000;
/** Where a thread is unknown only the server can count. */
const ASK_AFTER_MS = 1_000;
/** What looks unchanged may have changed twice, with the server's count in between. */
const AGAIN_AFTER_MS = 30_000;

export class Counts {
  readonly #session: CountingSession;
  readonly #listeners = new Set<() => void>();
  /** Of each thread that is known, the folders whose number has it. */
  readonly #known = new Map<string, readonly Folder[]>();
  #counts: InboxCounts | null = null;
  #stops: (() => void)[] = [];
  #timer: unknown = null;
  #dueAtMs = Infinity;
  #heardEvents = 0;

  constructor(session: CountingSession) {
    this.#session = session;
  }

  /** Null until the server has said. */
  get now(): InboxCounts | null {
    return this.#counts;
  }

  /** The first one to listen starts the counting, the last one to go ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** For a page that is asked for now. If something changes meanwhile, it may be too old. */
  taker(): (page: Pick<InboxPage, 'counts' | 'items'>) => void {
    const before = this.#heardEvents;
    return ({ counts, items }) => {
      for (const item of items) this.#known.set(item.thread.id, countedIn(item));
      this.#become(counts);
      if (before !== this.#heardEvents) this.#askIn(CORRECT_AFTER_MS);
    };
  }

  #start(): void {
    const { client, onReload } = this.#session;
    this.#stops = [
      client.on('event', (event) => this.#heard(event)),
      client.on('begun', (page) => this.taker()(page)),
      client.on('connection', ({ state }) => {
        if (!this.#counts && (state === 'live' || state === 'polling')) this.#askIn(0);
      }),
      onReload.call(this.#session, () => this.#askIn(0)),
    ];
    // The same request as the list's and the client's own first one.
    client.inbox().then(this.taker(), () => {});
  }

  #stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#session.clock.clearTimeout(this.#timer);
    this.#dueAtMs = Infinity;
  }

  #heard(event: FeedEvent): void {
    const id = event.thread_id;
    if (id === undefined || event.type === 'reset') return;
    this.#heardEvents += 1;
    const isGone = event.type === 'thread.changed' && !event.thread;
    if (isGone) this.#moved(id, []);
    else if (event.inbox) this.#changed(id, event.inbox, event);
  }

  #changed(id: string, inbox: InboxRow, event: FeedEvent): void {
    const thread = event.thread ?? this.#session.client.state.threads.get(id)?.thread;
    if (thread) this.#moved(id, countedIn({ thread, inbox }));
    else this.#askIn(ASK_AFTER_MS);
  }

  #moved(id: string, after: readonly Folder[]): void {
    const before = this.#known.get(id);
    this.#known.set(id, after);
    if (!before) return this.#askIn(ASK_AFTER_MS);
    if (String(before) === String(after) || !this.#counts) return this.#askIn(AGAIN_AFTER_MS);
    const counts = { ...this.#counts };
    for (const folder of before) counts[folder] = Math.max(0, counts[folder] - 1);
    for (const folder of after) counts[folder] += 1;
    this.#become(counts);
    this.#askIn(CORRECT_AFTER_MS);
  }

  #askIn(waitMs: number): void {
    const { clock } = this.#session;
    const atMs = clock.now() + waitMs;
    if (atMs >= this.#dueAtMs || this.#stops.length === 0) return;
    clock.clearTimeout(this.#timer);
    this.#dueAtMs = atMs;
    this.#timer = clock.setTimeout(() => void this.#ask(), waitMs);
  }

  async #ask(): Promise<void> {
    this.#dueAtMs = Infinity;
    const take = this.taker();
    try {
      take(await this.#session.client.rest.inbox({ limit: 1 }));
    } catch {
      this.#askIn(AGAIN_AFTER_MS);
    }
  }

  #become(counts: InboxCounts): void {
    this.#counts = counts;
    for (const listener of [...this.#listeners]) listener();
  }
}

const counted = new WeakMap<CountingSession, Counts>();

export function countsOf(session: CountingSession): Counts {
  const counts = counted.get(session) ?? new Counts(session);
  counted.set(session, counts);
  return counts;
}
