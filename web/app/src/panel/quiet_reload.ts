/** Loads again when something has changed: soon, but not for each of many changes at once. */

import type { Clock } from '@greenroom/sdk';

const AFTER_MS = 250;
const AT_MOST_EVERY_MS = 2_000;

export class QuietReload {
  readonly #clock: Clock;
  readonly #load: () => void;
  #timer: unknown = null;
  #lastAtMs = -Infinity;

  constructor(clock: Clock, load: () => void) {
    this.#clock = clock;
    this.#load = load;
  }

  ask(): void {
    if (this.#timer !== null) return;
    const earliestMs = this.#lastAtMs + AT_MOST_EVERY_MS;
    const waitMs = Math.max(AFTER_MS, earliestMs - this.#clock.now());
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = null;
      this.#lastAtMs = this.#clock.now();
      this.#load();
    }, waitMs);
  }

  stop(): void {
    if (this.#timer !== null) this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
  }
}
