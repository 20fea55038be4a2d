/** Tells the server that the person is typing, at most once in some seconds. */

import type { Clock } from './environment.js';

export const SAY_EVERY_MS = 4_000;
export const STOP_AFTER_MS = 5_000;

interface Sign {
  saidAtMs: number;
  timer: unknown;
}

export class Typing {
  readonly #clock: Clock;
  readonly #say: (threadId: string, on: boolean) => void;
  readonly #signs = new Map<string, Sign>();

  constructor(clock: Clock, say: (threadId: string, on: boolean) => void) {
    this.#clock = clock;
    this.#say = say;
  }

  /** To be called with every key; who stops pressing them has stopped typing. */
  on(threadId: string): void {
    const nowMs = this.#clock.now();
    const sign = this.#signs.get(threadId) ?? { saidAtMs: -Infinity, timer: null };
    this.#signs.set(threadId, sign);
    this.#clock.clearTimeout(sign.timer);
    sign.timer = this.#clock.setTimeout(() => this.off(threadId), STOP_AFTER_MS);
    if (nowMs - sign.saidAtMs < SAY_EVERY_MS) return;
    sign.saidAtMs = nowMs;
    this.#say(threadId, true);
  }

  off(threadId: string): void {
    if (this.#forget(threadId)) this.#say(threadId, false);
  }

  /** Without a word: the connection has ended, which says it too. */
  forgetAll(): void {
    for (const threadId of [...this.#signs.keys()]) this.#forget(threadId);
  }

  #forget(threadId: string): boolean {
    this.#clock.clearTimeout(this.#signs.get(threadId)?.timer);
    return this.#signs.delete(threadId);
  }
}
