/** The person's token: asked for when needed, and again before it ends. */

import type { Clock } from './environment.js';
import { Problem } from './problem.js';

export type TokenSource = () => Promise<string> | string;

const RENEW_BEFORE_MS = 60_000;

export interface Claims {
  sub?: string;
  exp?: number;
}

/** What a JWT says of itself. Only the server can tell whether that is true. */
export function readClaims(token: string): Claims {
  try {
    const payload = token.split('.')[1] ?? '';
    return JSON.parse(atob(payload.replace(/-/g, '+').replace(/_/g, '/'))) as Claims;
  } catch {
    return {};
  }
}

export class Tokens {
  readonly #source: TokenSource;
  readonly #clock: Clock;
  #token: string | null = null;
  #asking: Promise<string> | null = null;
  #endsAtMs = Infinity;
  #renewAtMs = Infinity;

  constructor(source: TokenSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** When the present one wants a successor; Infinity for one that does not say when it ends. */
  get renewAtMs(): number {
    return this.#renewAtMs;
  }

  async get(): Promise<string> {
    if (this.#token === null) return this.fresh();
    if (this.#clock.now() < this.#renewAtMs) return this.#token;
    try {
      return await this.fresh();
    } catch (error) {
      if (this.#clock.now() < this.#endsAtMs) return this.#token;
      throw error;
    }
  }

  /** Asks for another one; who asks meanwhile waits for the same. */
  fresh(): Promise<string> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = null));
    return this.#asking;
  }

  /** The server did not take it. */
  drop(): void {
    this.#token = null;
  }

  async #ask(): Promise<string> {
    let token: string;
    try {
      token = await this.#source();
    } catch (error) {
      throw Problem.of(error);
    }
    const nowMs = this.#clock.now();
    const endsAtMs = (readClaims(token).exp ?? Infinity) * 1000;
    // One that has already ended by our clock is more likely a wrong clock: the server will tell.
    this.#endsAtMs = endsAtMs > nowMs ? endsAtMs : Infinity;
    this.#renewAtMs = this.#endsAtMs - Math.min(RENEW_BEFORE_MS, (this.#endsAtMs - nowMs) / 5);
    if (Number.isNaN(this.#renewAtMs)) this.#renewAtMs = Infinity;
    this.#token = token;
    return token;
  }
}
