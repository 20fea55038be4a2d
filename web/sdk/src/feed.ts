/** The person's feed on this side: what was applied, and up to where. */

import type { Kept } from './cache.js';
import { Flight } from './flight.js';
import {
  applyEvent,
  EMPTY,
  forgetThread,
  mergeCard,
  mergeMessages,
  mergeSent,
  mergeState,
  mergeThreads,
  type State,
} from './state.js';
import type { Card, FeedEvent, InboxPage, Message, MessagesPage, ThreadItem } from './types.js';

export interface FeedLinks {
  keep(kept: Kept): void;
  /** A thread is not as before; null stands for any. */
  changed(threadId: string | null): void;
}

/** Takes what one request answers. */
export interface Merger {
  /** A page of messages, each in the latest form that is known by now. `keep`: it is the newest. */
  messages(threadId: string, page: MessagesPage, keep: boolean): MessagesPage;
  /** The person's own message, which the feed tells of too, or has told long ago. */
  sent(message: Message): void;
  /** A message that may be known already. */
  changed(message: Message): void;
  /** A card as it is after an action; its message may be known already. */
  card(card: Card): void;
  /** Rows, and the cursor that was read before them. */
  threads(items: readonly ThreadItem[], cursor: string): void;
  /** It was answered or it failed. */
  end(isAnswered: boolean): void;
}

/** What a request asks for: a thread, or rows of the inbox. Others only bring what is newer. */
export type Asking = { threadId: string } | 'inbox' | null;

export class Feed {
  readonly #links: FeedLinks;
  #state: State = EMPTY;
  #cursor: string | null = null;
  #isLoaded = false;
  readonly #flights = new Set<Flight>();
  /** What was asked for while no cursor was known: events may not tell what it missed. */
  readonly #early = new Set<Flight>();

  constructor(links: FeedLinks) {
    this.#links = links;
  }

  get state(): State {
    return this.#state;
  }

  get cursor(): string | null {
    return this.#cursor;
  }

  /** Whether there is a state to which events can be applied. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Threads to ask for again before the feed goes on. */
  get earlyThreads(): readonly string[] {
    return [...new Set([...this.#early].flatMap(({ threadId }) => threadId ?? []))];
  }

  /** Whether a page shows rows that it has to ask for again before the feed goes on. */
  get hasEarlyRows(): boolean {
    return [...this.#early].some(({ threadId }) => threadId === null);
  }

  restore(kept: Kept): void {
    this.#cursor = kept.cursor;
    this.#isLoaded = kept.isLoaded;
    // Events from a cursor that was stored tell everything since.
    if (kept.cursor !== null) this.#early.clear();
    // Without one nothing tells whether what was stored is still so.
    const stored = kept.cursor === null ? EMPTY : kept.state;
    this.#become(mergeState(stored, this.#state), null);
  }

  apply(event: FeedEvent): void {
    for (const flight of this.#flights) flight.events.push(event);
    this.#cursor = event.cursor;
    this.#become(applyEvent(this.#state, event), event.thread_id ?? null);
  }

  /** The server's word that everything up to here was told. */
  moveTo(cursor: string): void {
    if (cursor === this.#cursor) return;
    this.#cursor = cursor;
    this.#keep();
  }

  /** What is known cannot be trusted any more. Goes on from `cursor`, or from the next load. */
  reset(cursor: string | null): void {
    this.#isLoaded = false;
    for (const flight of this.#flights) flight.isTooOld = true;
    this.#early.clear();
    this.#cursor = cursor;
    this.#become(EMPTY, null);
  }

  /**
   * The first page of the inbox gives the place to go on from, if there is none yet. Answers that
   * are not surely of this place or later are not trusted: they are `early`.
   */
  begin(page: InboxPage): void {
    if (this.#cursor !== null) return;
    this.#cursor = page.sync_cursor;
    const asked = new Set(this.earlyThreads);
    for (const flight of this.#early) {
      if (flight.cursor === page.sync_cursor) this.#early.delete(flight);
      else flight.isTooOld = true;
    }
    if (this.#early.size > 0) this.#doubt(asked);
    this.#become(mergeThreads(this.#state, page.items, false), null);
  }

  /** Only what is asked for again stays, and of that no messages. */
  #doubt(asked: ReadonlySet<string>): void {
    const again = new Set(this.earlyThreads);
    const threads = [...this.#state.threads].filter(([id]) => asked.has(id));
    this.#state = {
      threads: new Map(
        threads.map(([id, known]) => [id, again.has(id) ? { ...known, messages: [] } : known]),
      ),
    };
  }

  /** The server says that the person is not in it. */
  forget(threadId: string): void {
    this.#become(forgetThread(this.#state, threadId), threadId);
  }

  /** Everything is in to which events can be applied. */
  loaded(): void {
    this.#isLoaded = true;
    this.#early.clear();
    this.#keep();
  }

  /** For a request that starts now. What events tell meanwhile is newer than its answer. */
  merger(asking: Asking = null): Merger {
    const threadId = asking !== null && asking !== 'inbox' ? asking.threadId : null;
    const flight = new Flight(threadId);
    this.#flights.add(flight);
    if (asking !== null && this.#cursor === null) this.#early.add(flight);
    const take = (about: string, merge: () => State): void => {
      if (!flight.isTooOld && !flight.hasLost(about)) this.#become(merge(), about);
    };
    return {
      messages: (id, page, keep) => {
        flight.answered(page.sync_cursor);
        const items = flight.latest(page.items);
        const all = [...items, ...flight.written(id)];
        if (keep) take(id, () => mergeMessages(this.#state, id, all, true));
        return { ...page, items };
      },
      sent: (message) => take(message.thread_id, () => mergeSent(this.#state, message)),
      changed: (message) => {
        const { thread_id: id } = message;
        take(id, () => mergeMessages(this.#state, id, [message], false));
      },
      card: (card) => take(card.thread_id, () => mergeCard(this.#state, card)),
      threads: (items, cursor) => {
        flight.answered(cursor);
        if (flight.isTooOld) return;
        const still = items.filter(({ thread }) => !flight.hasLost(thread.id));
        this.#become(mergeThreads(this.#state, still, this.#isLoaded), threadId);
      },
      end: (isAnswered) => {
        this.#flights.delete(flight);
        if (!isAnswered) this.#early.delete(flight);
      },
    };
  }

  #become(state: State, threadId: string | null): void {
    this.#state = state;
    this.#keep();
    this.#links.changed(threadId);
  }

  #keep(): void {
    this.#links.keep({ cursor: this.#cursor, isLoaded: this.#isLoaded, state: this.#state });
  }
}
