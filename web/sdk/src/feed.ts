/** The person's feed on this side: what was applied, and up to where. */

import type { Kept } from './cache.js';
import { applyEvent, EMPTY, mergeCard, mergeMessages, mergeThreads, type State } from './state.js';
import type { Card, FeedEvent, InboxPage, Message, ThreadItem } from './types.js';

export interface FeedLinks {
  keep(kept: Kept): void;
  /** A thread is not as before; null stands for any. */
  changed(threadId: string | null): void;
}

/** Takes what requests answer. */
export interface Merger {
  messages(threadId: string, messages: readonly Message[]): void;
  /** A message that may be known already. */
  changed(message: Message): void;
  /** A card as it is after an action; its message may be known already. */
  card(card: Card): void;
  threads(items: readonly ThreadItem[]): void;
  /** Nothing was answered. */
  failed(): void;
}

export class Feed {
  readonly #links: FeedLinks;
  #state: State = EMPTY;
  #cursor: string | null = null;
  #isLoaded = false;
  #forgotten = 0;
  readonly #early = new Map<Merger, string>();

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

  /** Threads that were asked for while no cursor was known: events may not tell what they missed. */
  get early(): readonly string[] {
    return [...new Set(this.#early.values())];
  }

  restore(kept: Kept): void {
    this.#cursor = kept.cursor;
    this.#isLoaded = kept.isLoaded;
    // Events from a cursor that was stored tell everything since.
    if (kept.isLoaded) this.#early.clear();
    this.#become(kept.state, null);
  }

  apply(event: FeedEvent): void {
    if (event.type === 'thread.changed' && !event.thread) this.#forgotten += 1;
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
    this.#forgotten += 1;
    this.#cursor = cursor;
    this.#become(EMPTY, null);
  }

  /** An inbox page is in. Its cursor was read before its rows: events tell what it missed. */
  loaded(page: InboxPage): void {
    this.#cursor ??= page.sync_cursor;
    this.#isLoaded = true;
    this.#early.clear();
    this.#keep();
  }

  /** For a request that starts now: if something is forgotten meanwhile, its answer is too old.
   * `threadId`: it asks for this thread. */
  merger(threadId?: string): Merger {
    const before = this.#forgotten;
    const take = (state: State, threadId: string | null): void => {
      if (before === this.#forgotten) this.#become(state, threadId);
    };
    const merger: Merger = {
      messages: (id, messages) => take(mergeMessages(this.#state, id, messages, true), id),
      changed: (message) => {
        take(mergeMessages(this.#state, message.thread_id, [message], false), message.thread_id);
      },
      card: (card) => take(mergeCard(this.#state, card), card.thread_id),
      threads: (items) => take(mergeThreads(this.#state, items, this.#isLoaded), null),
      failed: () => this.#early.delete(merger),
    };
    if (threadId !== undefined && !this.#isLoaded) this.#early.set(merger, threadId);
    return merger;
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
