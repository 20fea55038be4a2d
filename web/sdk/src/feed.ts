/** The person's feed on this side: what was applied, and up to where. */

import type { Kept } from './cache.js';
import {
  applyEvent,
  EMPTY,
  mergeCard,
  mergeMessage,
  mergeMessages,
  mergeState,
  mergeThreads,
  type State,
  withForms,
} from './state.js';
import type {
  Card,
  FeedEvent,
  InboxPage,
  Message,
  MessagesPage,
  StoredFile,
  ThreadItem,
} from './types.js';

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
  message(message: Message): void;
  /** A card as it is after an action; its message may be known already. */
  card(card: Card): void;
  /** Rows, and the cursor that was read before them. */
  threads(items: readonly ThreadItem[], cursor: string): void;
  /** It was answered or it failed. */
  end(isAnswered: boolean): void;
}

/** What a request asks for: a thread, or rows of the inbox. Others only bring what is newer. */
export type Asking = { threadId: string } | 'inbox' | null;

/** A request under way. */
interface Flight {
  /** The thread that it asks for, if it is one. */
  readonly threadId: string | null;
  /** What was told since it began: newer than its answer. */
  readonly events: FeedEvent[];
  /** The place that its answer was read at, or after; null until it is answered. */
  cursor: string | null;
  /** Whatever it answers was read before the place that the feed goes on from. */
  isTooOld: boolean;
}

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
    return [...this.#early].some(
      ({ threadId, cursor }) => threadId === null && cursor !== this.#cursor,
    );
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

  /** A file as it is now, by the answer to a request. */
  learn(file: StoredFile): void {
    const { thread_id } = file;
    if (!thread_id || !this.#state.threads.has(thread_id)) return;
    const event = { type: 'file.changed', cursor: '', at: '', thread_id, file } as const;
    for (const flight of this.#flights) flight.events.push(event);
    this.#become(applyEvent(this.#state, event), thread_id);
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
   * The first page of the inbox gives the place to go on from, if there is none yet. Unless all that
   * was asked before was read at this same place, none of it stays.
   */
  begin({ sync_cursor, items }: InboxPage): void {
    if (this.#cursor !== null) return;
    this.#cursor = sync_cursor;
    if ([...this.#early].every(({ cursor }) => cursor === sync_cursor)) this.#early.clear();
    else {
      for (const flight of this.#early) flight.isTooOld = true;
      this.#state = EMPTY;
    }
    this.#become(mergeThreads(this.#state, items, false), null);
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
    const flight: Flight = { threadId, events: [], cursor: null, isTooOld: false };
    this.#flights.add(flight);
    if (asking !== null && this.#cursor === null) this.#early.add(flight);
    const isLeft = (id: string): boolean =>
      flight.events.some(
        ({ type, thread, thread_id }) => thread_id === id && type === 'thread.changed' && !thread,
      );
    const take = (about: string, merge: () => State): void => {
      if (!flight.isTooOld && !isLeft(about)) this.#become(merge(), about);
    };
    return {
      messages: (id, page, keep) => {
        flight.cursor = page.sync_cursor;
        const items = withForms(page.items, flight.events);
        if (keep) take(id, () => mergeMessages(this.#state, id, items, true));
        return { ...page, items };
      },
      message: (message) => take(message.thread_id, () => mergeMessage(this.#state, message)),
      card: (card) => take(card.thread_id, () => mergeCard(this.#state, card)),
      threads: (items, cursor) => {
        flight.cursor = cursor;
        if (flight.isTooOld) return;
        const still = items.filter(({ thread }) => !isLeft(thread.id));
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
