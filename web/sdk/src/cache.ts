/** Keeps the feed's position and the latest threads in a storage. */

import type { Clock } from './environment.js';
import type { State, ThreadState } from './state.js';
import type { Storage } from './storage.js';

export const THREADS_STORED = 50;
const WRITE_AFTER_MS = 250;
const FORM = 2;

export interface Position {
  /** The last event that was applied. */
  cursor: string | null;
  /** False between a reset and the inbox having been loaded anew. */
  isLoaded: boolean;
}

interface Index extends Position {
  form: number;
  threads: string[];
}

export interface Kept extends Position {
  state: State;
}

export class Cache {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #complain: (error: unknown) => void;
  #next: Kept | null = null;
  /** What is in the storage; null for a thread that may be there in another form. */
  #written = new Map<string, ThreadState | null>();
  #timer: unknown = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(storage: Storage, clock: Clock, complain: (error: unknown) => void) {
    this.#storage = storage;
    this.#clock = clock;
    this.#complain = complain;
  }

  async restore(): Promise<Kept | null> {
    const index = parse<Index>(await this.#storage.get('feed'));
    const named = parse<string[]>(await this.#storage.get('threads')) ?? [];
    this.#written = new Map([...named, ...(index?.threads ?? [])].map((id) => [id, null]));
    if (index?.form !== FORM) return null;
    const threads = new Map<string, ThreadState>();
    for (const id of index.threads) {
      const known = parse<ThreadState>(await this.#storage.get(threadKey(id)));
      if (known === null) return null;
      threads.set(id, known);
    }
    for (const [id, known] of threads) this.#written.set(id, known);
    return { cursor: index.cursor, isLoaded: index.isLoaded, state: { threads } };
  }

  /** Writes soon; what changes meanwhile is written with it. */
  keep(kept: Kept): void {
    this.#next = kept;
    this.#timer ??= this.#clock.setTimeout(() => void this.flush(), WRITE_AFTER_MS);
  }

  flush(): Promise<void> {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing = this.#writing.then(() => this.#write()).catch(this.#complain);
    return this.#writing;
  }

  async clear(): Promise<void> {
    this.#next = { cursor: null, isLoaded: false, state: { threads: new Map() } };
    await this.flush();
    await this.#storage.remove('feed');
    await this.#storage.remove('threads');
  }

  /**
   * Threads first, then the position: after a crash in between, events are applied again, which
   * changes nothing. If a thread cannot be written the position goes: the next start loads anew.
   * It also does where a thread is gone and the position still names it. Before all that the names
   * of what is to come, so that whatever happens nothing stays of which nobody knows.
   */
  async #write(): Promise<void> {
    if (this.#next === null) return;
    const { cursor, isLoaded, state } = this.#next;
    this.#next = null;
    const stored = new Map([...state.threads].slice(-THREADS_STORED));
    try {
      await this.#name(stored);
      for (const id of [...this.#written.keys()].filter((each) => !stored.has(each))) {
        await this.#storage.remove(threadKey(id));
        this.#written.delete(id);
      }
      for (const [id, known] of stored) {
        if (this.#written.get(id) === known) continue;
        await this.#storage.set(threadKey(id), JSON.stringify(known));
        this.#written.set(id, known);
      }
      const index: Index = { form: FORM, cursor, isLoaded, threads: [...stored.keys()] };
      await this.#storage.set('feed', JSON.stringify(index));
    } catch (error) {
      await this.#storage.remove('feed');
      throw error;
    }
  }

  async #name(stored: State['threads']): Promise<void> {
    const fresh = [...stored.keys()].filter((id) => !this.#written.has(id));
    if (fresh.length === 0) return;
    await this.#storage.set('threads', JSON.stringify([...this.#written.keys(), ...fresh]));
    for (const id of fresh) this.#written.set(id, null);
  }
}

function threadKey(id: string): string {
  return `thread.${id}`;
}

export function parse<T>(text: string | null): T | null {
  try {
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}
