/** Tells the server how far the person has read: seldom, and never backwards. */

import type { Clock } from '@greenroom/sdk';

const AT_MOST_EVERY_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export class ReadMarks {
  readonly #clock: Clock;
  readonly #say: (messageId: string) => Promise<unknown>;
  #seen = '';
  #said = '';
  #saidAtMs = -Infinity;
  #failures = 0;
  #isStopped = false;
  #timer: unknown = null;

  /** `readUpTo` is what the server knows already. */
  constructor(clock: Clock, readUpTo: string, say: (messageId: string) => Promise<unknown>) {
    this.#clock = clock;
    this.#said = readUpTo;
    this.#say = say;
  }

  /** The person sees this message. Ids of a thread sort as its messages were written. */
  see(messageId: string): void {
    if (messageId <= this.#seen || messageId <= this.#said) return;
    this.#seen = messageId;
    if (this.#timer !== null) return;
    this.#plan();
  }

  /** What the server knows already, as from another device. */
  known(messageId: string): void {
    if (messageId > this.#said) this.#said = messageId;
  }

  /** What was seen is still told. */
  stop(): void {
    this.#isStopped = true;
    if (this.#timer === null) return;
    this.#clock.clearTimeout(this.#timer);
    this.#tell();
  }

  /** The pause grows with each failure, so that a server that is away is asked seldom. */
  #plan(): void {
    const pauseMs = Math.min(LONGEST_WAIT_MS, AT_MOST_EVERY_MS * 2 ** this.#failures);
    const waitMs = Math.max(0, this.#saidAtMs + pauseMs - this.#clock.now());
    this.#timer = this.#clock.setTimeout(() => this.#tell(), waitMs);
  }

  /** One that fails is said again, also if the person sees nothing more meanwhile. */
  #tell(): void {
    this.#timer = null;
    const before = this.#said;
    const messageId = this.#seen;
    if (messageId <= before) return;
    this.#said = messageId;
    this.#saidAtMs = this.#clock.now();
    this.#say(messageId).then(
      () => (this.#failures = 0),
      () => {
        this.#failures += 1;
        if (this.#said === messageId) this.#said = before;
        if (!this.#isStopped && this.#timer === null) this.#plan();
      },
    );
  }
}
