/** The interval between polls: short while the person is active, longer in the background. */

import { type Clock, Nap } from './environment.js';

export type Visibility = 'open' | 'background' | 'closed';

export const OPEN_MS = 3_000;
export const BACKGROUND_MS = 10_000;
export const IDLE_MS = 30_000;
export const IDLE_AFTER_MS = 5 * 60_000;

export class PollInterval {
  readonly #clock: Clock;
  readonly #nap: Nap;
  #visibility: Visibility = 'open';
  #touchedAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#nap = new Nap(clock);
    this.#touchedAtMs = clock.now();
  }

  get visibility(): Visibility {
    return this.#visibility;
  }

  get intervalMs(): number {
    if (this.#clock.now() - this.#touchedAtMs >= IDLE_AFTER_MS) return IDLE_MS;
    return this.#visibility === 'open' ? OPEN_MS : BACKGROUND_MS;
  }

  setVisibility(visibility: Visibility): void {
    this.#visibility = visibility;
    this.touch();
  }

  /** The person did something. */
  touch(): void {
    this.#touchedAtMs = this.#clock.now();
    this.#nap.wake();
  }

  /** Until the next poll is due; sooner if the person comes back meanwhile. */
  async wait(signal: AbortSignal): Promise<void> {
    const sinceMs = this.#clock.now();
    let leftMs = this.intervalMs;
    while (leftMs > 0 && !signal.aborted) {
      await this.#nap.sleep(leftMs, signal);
      leftMs = sinceMs + this.intervalMs - this.#clock.now();
    }
  }
}
