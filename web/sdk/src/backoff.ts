/** Retrying without making it worse. */

import type { Clock } from './environment.js';

export const FIRST_WAIT_MS = 500;
export const LONGEST_WAIT_MS = 30_000;
export const RETRIES_AT_ONCE = 10;
export const RETRY_EVERY_MS = 15_000;

/** Full jitter: anywhere between nothing and a ceiling that doubles, so that clients spread out. */
export function backoffMs(failures: number, random: () => number): number {
  return random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
}

/**
 * Ten retries, and one more every fifteen seconds, whatever succeeds in between: a server that
 * takes connections and drops them would else be asked again at the shortest wait for ever.
 */
export class RetryBudget {
  readonly #clock: Clock;
  #spentUntilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Spends one retry and tells how long it has to wait for that. */
  spend(): number {
    const nowMs = this.#clock.now();
    this.#spentUntilMs = Math.max(this.#spentUntilMs, nowMs) + RETRY_EVERY_MS;
    return Math.max(0, this.#spentUntilMs - nowMs - RETRIES_AT_ONCE * RETRY_EVERY_MS);
  }
}

export class Backoff {
  readonly #random: () => number;
  readonly #budget: RetryBudget;
  #failures = 0;

  constructor(random: () => number, budget: RetryBudget) {
    this.#random = random;
    this.#budget = budget;
  }

  get isClear(): boolean {
    return this.#failures === 0;
  }

  /** How long to wait now; never less than the server asked for. */
  failed(retryAfterMs = 0): number {
    const waitMs = backoffMs(this.#failures, this.#random);
    this.#failures += 1;
    return Math.max(waitMs, retryAfterMs, this.#budget.spend());
  }

  succeeded(): void {
    this.#failures = 0;
  }
}
