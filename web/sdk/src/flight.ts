/** A request under way, and what events tell until it is answered. */

import { withForms } from './state.js';
import type { FeedEvent, Message } from './types.js';

export class Flight {
  /** The thread that it asks for, if it is one. */
  readonly threadId: string | null;
  readonly events: FeedEvent[] = [];
  /** Whatever it answers was read before the place that the feed goes on from. */
  isTooOld = false;
  #cursor: string | null = null;

  constructor(threadId: string | null) {
    this.threadId = threadId;
  }

  /** The place that its answer was read at, or after; null until it is answered. */
  get cursor(): string | null {
    return this.#cursor;
  }

  answered(cursor: string): void {
    this.#cursor = cursor;
  }

  /** Whether the person has left this thread meanwhile. */
  hasLost(threadId: string): boolean {
    return this.#about(threadId).some(({ type, thread }) => type === 'thread.changed' && !thread);
  }

  /** Each message in its latest form. */
  latest(messages: readonly Message[]): Message[] {
    return withForms(messages, this.events);
  }

  /** What was written meanwhile. */
  written(threadId: string): Message[] {
    return this.#about(threadId).flatMap(({ type, message }) =>
      type === 'message.new' && message ? message : [],
    );
  }

  #about(threadId: string): FeedEvent[] {
    return this.events.filter((each) => each.thread_id === threadId);
  }
}
