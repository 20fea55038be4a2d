/** Who is typing and who is online in the watched threads. Forgotten when the connection ends. */

import type { EphemeralEvent } from './types.js';

export class PresenceTracker {
  readonly #typing = new Map<string, Set<string>>();
  readonly #online = new Map<string, Set<string>>();

  apply(event: EphemeralEvent): void {
    const isOn = event.type === 'typing' ? event.on : event.online;
    const kept = event.type === 'typing' ? this.#typing : this.#online;
    const people = kept.get(event.thread_id) ?? new Set();
    kept.set(event.thread_id, people);
    if (isOn) people.add(event.user_id);
    else people.delete(event.user_id);
  }

  typing(threadId: string): string[] {
    return [...(this.#typing.get(threadId) ?? [])];
  }

  online(threadId: string): string[] {
    return [...(this.#online.get(threadId) ?? [])];
  }

  /** Threads of which something was known and now is not. */
  clear(): string[] {
    const known = new Set([...this.#typing.keys(), ...this.#online.keys()]);
    this.#typing.clear();
    this.#online.clear();
    return [...known];
  }

  keepOnly(threadIds: readonly string[]): void {
    for (const kept of [this.#typing, this.#online]) {
      for (const id of [...kept.keys()]) if (!threadIds.includes(id)) kept.delete(id);
    }
  }
}
