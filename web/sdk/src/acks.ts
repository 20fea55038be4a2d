/** Tells the server what has arrived, at most once a second. */

import type { Clock } from './environment.js';
import type { Line } from './transports/transport.js';

export const ACK_EVERY_MS = 1_000;

export class Acks {
  readonly #clock: Clock;
  #line: Line = {};
  #applied: string | null = null;
  #acknowledged: string | null = null;
  #timer: unknown = null;
  #lastAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A connection has opened; none has an empty line. */
  use(line: Line): void {
    this.#line = line;
    this.#plan();
  }

  applied(cursor: string | null): void {
    this.#applied = cursor;
    this.#plan();
  }

  #plan(): void {
    const isDue = this.#applied !== null && this.#applied !== this.#acknowledged;
    if (!isDue || !this.#line.ack || this.#timer !== null) return;
    const waitMs = this.#lastAtMs + ACK_EVERY_MS - this.#clock.now();
    this.#timer = this.#clock.setTimeout(() => this.#say(), Math.max(0, waitMs));
  }

  #say(): void {
    this.#timer = null;
    if (!this.#line.ack || this.#applied === null) return;
    this.#line.ack(this.#applied);
    this.#acknowledged = this.#applied;
    this.#lastAtMs = this.#clock.now();
  }
}
