/** A clock that stands still until told, chance that can be repeated, and people's tokens. */

import type { Clock } from '../src/environment.js';

export const START_MS = 1_800_000_000_000;

/** Until everything that waits for nothing but its turn has had it. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export class FakeClock implements Clock {
  nowMs = START_MS;
  readonly #timers = new Map<number, { atMs: number; run: () => void }>();
  #made = 0;

  now(): number {
    return this.nowMs;
  }

  setTimeout(run: () => void, delayMs: number): number {
    this.#made += 1;
    this.#timers.set(this.#made, { atMs: this.nowMs + Math.max(0, delayMs), run });
    return this.#made;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer as number);
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  async advance(byMs: number): Promise<void> {
    const untilMs = this.nowMs + byMs;
    for (;;) {
      await settle();
      const due = [...this.#timers].filter(([, { atMs }]) => atMs <= untilMs);
      const [first] = due.sort(([a, one], [b, other]) => one.atMs - other.atMs || a - b);
      if (!first) break;
      const [id, { atMs, run }] = first;
      this.#timers.delete(id);
      this.nowMs = Math.max(this.nowMs, atMs);
      run();
    }
    this.nowMs = untilMs;
    await settle();
  }
}

/** Mulberry32: small, and the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The same choices every time, unless GREENROOM_SEED is another number. */
export function chance(): () => number {
  const given = process.env['GREENROOM_SEED'];
  const seed = given ? Number(given) : 1;
  console.log(`replay with GREENROOM_SEED=${seed}`);
  return seeded(seed);
}

export function jwt(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part(claims)}.signature`;
}

export function countingIds(prefix = 'c'): () => string {
  let count = 0;
  return () => `${prefix}${(count += 1)}`;
}
