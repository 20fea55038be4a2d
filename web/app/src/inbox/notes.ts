/** The note above the list after an action, such as "Archived" with Undo. It disappears after a while,
 * or when it is no longer true. */

import type { Clock, FeedEvent, Placement } from '@greenroom/sdk';

const SAID_FOR_MS = 6_000;

export interface Note {
  readonly text: string;
  readonly undo: (() => void) | null;
  /** What it claims: where this thread is now. */
  readonly about: { readonly threadId: string; readonly placement: Placement } | null;
}

export interface NotesLinks {
  changed(): void;
  /** Whoever points at it, or has reached it with the keyboard, keeps it. */
  isUsed(): boolean;
}

export class Notes {
  readonly #clock: Clock;
  readonly #links: NotesLinks;
  #now: Note | null = null;
  #timer: unknown = null;
  /** Until the server has answered, the feed may still tell of before. */
  #isAsking = false;
  #isRefuted = false;

  constructor(clock: Clock, links: NotesLinks) {
    this.#clock = clock;
    this.#links = links;
  }

  get now(): Note | null {
    return this.#now;
  }

  /** `done` ends when the server has answered. */
  say(note: Note | null, done?: Promise<unknown>): void {
    this.#clock.clearTimeout(this.#timer);
    this.#now = note;
    this.#isRefuted = false;
    this.#isAsking = done !== undefined;
    const answered = (): void => {
      if (this.#now !== note) return;
      this.#isAsking = false;
      if (this.#isRefuted) this.say(null);
    };
    done?.then(answered, answered);
    if (note) this.#endLater();
    this.#links.changed();
  }

  heard(event: FeedEvent): void {
    const about = this.#now?.about;
    if (!about || event.thread_id !== about.threadId) return;
    const isGone = event.type === 'thread.changed' && !event.thread;
    if (!isGone && !event.inbox) return;
    this.#isRefuted = isGone || event.inbox?.placement !== about.placement;
    if (this.#isRefuted && !this.#isAsking) this.say(null);
  }

  #endLater(): void {
    this.#timer = this.#clock.setTimeout(() => {
      if (this.#links.isUsed()) this.#endLater();
      else this.say(null);
    }, SAID_FOR_MS);
  }
}
