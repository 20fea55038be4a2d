/** A value that changes often is told only when it has stayed the same for a while. Pure. */

import type { Clock } from '@greenroom/sdk';

export class Steady<Value> {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #told: (value: Value) => void;
  #value: Value | undefined;
  #timer: unknown = null;

  constructor(clock: Clock, waitMs: number, told: (value: Value) => void) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#told = told;
  }

  set(value: Value): void {
    this.stop();
    if (value === this.#value) return;
    this.#timer = this.#clock.setTimeout(() => this.now(value), this.#waitMs);
  }

  /** Without waiting. */
  now(value: Value): void {
    this.stop();
    this.#value = value;
    this.#told(value);
  }

  stop(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
  }
}
