/** What the browser stores for one person: the cursor of the feed, their threads, and sends that wait. */

import { Cache, type Kept, parse } from './cache.js';
import type { Clock } from './environment.js';
import type { Send } from './queue.js';
import { memoryStorage, type Storage } from './storage.js';

export class UserStore {
  readonly #base: Storage | Promise<Storage>;
  readonly #clock: Clock;
  readonly #complain: (error: unknown) => void;
  readonly #found: Promise<Storage>;
  #tell: (storage: Storage) => void = () => {};
  #own: Storage | null = null;
  #cache: Cache | null = null;
  #isCleared = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(base: Storage | Promise<Storage>, clock: Clock, complain: (error: unknown) => void) {
    this.#base = base;
    this.#clock = clock;
    this.#complain = complain;
    this.#found = new Promise((resolve) => (this.#tell = resolve));
  }

  /**
   * What is there. Whoever uses the same browser next has another name and sees nothing of it.
   * Sends are written from `start` on, when those that are there have been taken up.
   */
  async open(user: string): Promise<{ kept: Kept | null; sends: Send[] }> {
    try {
      return await this.#read(await this.#base, user);
    } catch (error) {
      // A browser that forbids storage: the page's life is then all there is.
      this.#complain(error);
      return this.#read(memoryStorage(), user);
    }
  }

  async #read(base: Storage, user: string): Promise<{ kept: Kept | null; sends: Send[] }> {
    const name = (key: string): string => `${user}.${key}`;
    const own: Storage = {
      get: (key) => base.get(name(key)),
      set: (key, text) => base.set(name(key), text),
      remove: (key) => base.remove(name(key)),
    };
    const cache = new Cache(own, this.#clock, this.#complain);
    const kept = await cache.restore();
    const sends = parse<Send[]>(await own.get('sends')) ?? [];
    this.#cache = cache;
    this.#own = own;
    return { kept, sends };
  }

  start(): void {
    if (this.#own) this.#tell(this.#own);
  }

  keep(kept: Kept): void {
    if (!this.#isCleared) this.#cache?.keep(kept);
  }

  /** One that is under way is stored as waiting. */
  saveSends(list: () => readonly Send[]): Promise<void> {
    return this.#write(async (own) => {
      if (this.#isCleared) return;
      const sends = list().map((each) =>
        each.state === 'sending' ? { ...each, state: 'queued' } : each,
      );
      await own.set('sends', JSON.stringify(sends));
    });
  }

  async flush(): Promise<void> {
    await this.#cache?.flush();
  }

  /** For good: what still comes in is not stored. */
  async clear(): Promise<void> {
    this.#isCleared = true;
    if (!this.#cache) return;
    await this.#cache.clear();
    await this.#write(async (own) => own.remove('sends'));
  }

  #write(write: (own: Storage) => Promise<void>): Promise<void> {
    this.#writing = this.#writing
      .then(() => this.#found)
      .then(write)
      .catch(this.#complain);
    return this.#writing;
  }
}
