/** The threads that a connection watches for typing and presence.
 *
 * The server refuses the whole list if the person is not (yet) in one of the threads. After a refusal
 * only the threads that are known to be theirs are asked for, and the whole list again later. */

import type { Clock } from './environment.js';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

export interface WatchingLinks {
  clock: Clock;
  /** How many the server allows; undefined while that is not known. */
  most(): number | undefined;
  /** Whether the person is in this thread as far as is known here. */
  isKnown(threadId: string): boolean;
  /** Something else is to be asked for. */
  changed(): void;
}

export class Watching {
  readonly #links: WatchingLinks;
  #wished: readonly string[] = [];
  #isCareful = false;
  #refusals = 0;
  #timer: unknown = null;

  constructor(links: WatchingLinks) {
    this.#links = links;
  }

  get wished(): readonly string[] {
    return this.#wished;
  }

  get asked(): readonly string[] {
    const isAsked = (id: string): boolean => !this.#isCareful || this.#links.isKnown(id);
    return this.#wished.filter(isAsked).slice(0, this.#links.most());
  }

  wish(threadIds: readonly string[]): void {
    if (String(threadIds) === String(this.#wished)) return;
    this.#wished = [...threadIds];
    this.#isCareful = false;
    this.#links.changed();
  }

  accepted(): void {
    if (!this.#isCareful) this.#refusals = 0;
  }

  refused(): void {
    const { clock } = this.#links;
    clock.clearTimeout(this.#timer);
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#refusals);
    this.#refusals += 1;
    this.#timer = clock.setTimeout(() => {
      this.#isCareful = false;
      this.#links.changed();
    }, waitMs);
    if (this.#isCareful) return;
    this.#isCareful = true;
    this.#links.changed();
  }

  stop(): void {
    this.#links.clock.clearTimeout(this.#timer);
    this.#isCareful = false;
  }
}
