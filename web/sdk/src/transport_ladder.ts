/** Chooses the transport: the best one that works, with a better one tried again now and then. */

import type { Clock } from './environment.js';
import type { TransportName } from './transports/transport.js';

export const FAILURES_TO_STEP_DOWN = 2;
export const FIRST_CLIMB_MS = 5 * 60_000;
export const LONGEST_CLIMB_MS = 60 * 60_000;

export class Ladder {
  readonly #rungs: readonly TransportName[];
  readonly #clock: Clock;
  #rung = 0;
  /** Where it worked last; above it a single failure leads back down. */
  #home = 0;
  #failures = 0;
  #climbs = 0;
  #climbAtMs = Infinity;

  constructor(rungs: readonly TransportName[], clock: Clock) {
    this.#rungs = rungs;
    this.#clock = clock;
  }

  get current(): TransportName {
    return this.#rungs[this.#rung] ?? 'poll';
  }

  /** When to try the better ones again; Infinity on the best. */
  get climbAtMs(): number {
    return this.#climbAtMs;
  }

  opened(): void {
    this.#failures = 0;
    if (this.#rung < this.#home) this.#climbs = 0;
    this.#home = this.#rung;
    if (this.#rung === 0) this.#climbAtMs = Infinity;
    else if (this.#climbAtMs <= this.#clock.now() || this.#climbAtMs === Infinity) {
      const waitMs = Math.min(LONGEST_CLIMB_MS, FIRST_CLIMB_MS * 2 ** this.#climbs);
      this.#climbAtMs = this.#clock.now() + waitMs;
    }
  }

  /** This one does not open though the server answers. Tells whether the next one is up now. */
  failed(): boolean {
    this.#failures += 1;
    const isTrial = this.#rung < this.#home;
    if (!isTrial && this.#failures < FAILURES_TO_STEP_DOWN) return false;
    if (this.#rung >= this.#rungs.length - 1) return false;
    this.#rung += 1;
    this.#failures = 0;
    return true;
  }

  climb(): void {
    this.#climbs += 1;
    this.#rung = 0;
    this.#failures = 0;
  }
}
