/** Announces new messages to screen readers: one by one, or only their number if many come at once. */

import type { Clock } from '@greenroom/sdk';

const TOGETHER_MS = 700;
const MOST_SINGLE = 3;

export interface Voice {
  say(text: string): void;
  many(count: number): string;
}

export class Arrivals {
  readonly #clock: Clock;
  readonly #voice: Voice;
  #waiting: string[] = [];
  #timer: unknown = null;

  constructor(clock: Clock, voice: Voice) {
    this.#clock = clock;
    this.#voice = voice;
  }

  add(text: string): void {
    this.#waiting.push(text);
    this.#timer ??= this.#clock.setTimeout(() => this.#speak(), TOGETHER_MS);
  }

  stop(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
    this.#waiting = [];
  }

  #speak(): void {
    const texts = this.#waiting;
    this.stop();
    if (texts.length > MOST_SINGLE) this.#voice.say(this.#voice.many(texts.length));
    else texts.forEach((text) => this.#voice.say(text));
  }
}
