/** One run of one transport, from opening to end. After it has ended, events that the transport still
 * delivers are ignored. */

import type { Clock } from './environment.js';
import type { End, Line, Session, TransportName } from './transports/transport.js';
import type { EphemeralEvent, FeedEvent } from './types.js';

export interface TransportRunLinks {
  clock: Clock;
  cursor(): string | null;
  watched(): readonly string[];
  watchRefused(): void;
  apply(event: FeedEvent): void;
  moveTo(cursor: string): void;
  ephemeral(event: EphemeralEvent): void;
  opened(visit: TransportRun): void;
  proven(visit: TransportRun): void;
  left(visit: TransportRun): void;
}

export class TransportRun implements Session {
  readonly transport: TransportName;
  line: Line = {};
  readonly #links: TransportRunLinks;
  readonly #leaving = new AbortController();
  readonly #timers = new Set<unknown>();
  #reason: End | null = null;

  constructor(transport: TransportName, links: TransportRunLinks) {
    this.transport = transport;
    this.#links = links;
  }

  get cursor(): string {
    return this.#links.cursor() ?? '';
  }

  get watched(): readonly string[] {
    return this.#links.watched();
  }

  watchRefused(): void {
    if (!this.signal.aborted) this.#links.watchRefused();
  }

  get signal(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Why the client left of its own accord, if it did. */
  get reason(): End | null {
    return this.#reason;
  }

  opened(line: Line): void {
    if (this.signal.aborted) return;
    this.line = line;
    this.#links.opened(this);
  }

  proven(): void {
    if (!this.signal.aborted) this.#links.proven(this);
  }

  deliver(events: readonly FeedEvent[], cursor: string): void {
    for (const event of events) {
      if (this.signal.aborted) return;
      this.#links.apply(event);
      // What follows is told again, once there is a state to apply it to.
      if (event.type === 'reset') return this.leave({ kind: 'reset' });
    }
    if (!this.signal.aborted) this.#links.moveTo(cursor);
  }

  ephemeral(event: EphemeralEvent): void {
    if (!this.signal.aborted) this.#links.ephemeral(event);
  }

  /** Runs later, unless this was left by then. */
  after(waitMs: number, run: () => void): void {
    if (this.signal.aborted) return;
    const { clock } = this.#links;
    const timer = clock.setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, waitMs);
    this.#timers.add(timer);
  }

  leave(reason: End): void {
    if (this.signal.aborted) return;
    this.#reason = reason;
    for (const timer of this.#timers) this.#links.clock.clearTimeout(timer);
    this.#links.left(this);
    this.#leaving.abort();
  }
}
