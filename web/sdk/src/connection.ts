/** Keeps one transport running, and decides what follows when it ends. */

import type { Backoff } from './backoff.js';
import type { Ladder } from './transport_ladder.js';
import { afterClose, RESTART_MS, TOO_MANY_FRAMES_MS, UNREADABLE_MS } from './close_codes.js';
import { type Environment, Nap } from './environment.js';
import type { Http } from './http.js';
import { Problem } from './problem.js';
import type { Tokens } from './tokens.js';
import { catchUp, endOfLastResort } from './transports/poll.js';
import type { End, Line, Transport, TransportName } from './transports/transport.js';
import type { EphemeralEvent, FeedEvent } from './types.js';
import { TransportRun } from './transport_run.js';

/** `live`: pushed. `reconnecting`: the server may be well. `offline`: nothing answers. */
export type ConnectionState = 'live' | 'polling' | 'reconnecting' | 'offline' | 'closed';

export interface Connected {
  readonly state: ConnectionState;
  /** The one that is open. */
  readonly transport: TransportName | null;
  /** The code of docs/realtime.md with which the server ended it, if it did. */
  readonly code?: number;
}

export interface ConnectionLinks {
  environment: Environment;
  http: Http;
  tokens: Tokens;
  ladder: Ladder;
  backoff: Backoff;
  transports: Readonly<Record<TransportName, Transport>>;
  cursor(): string | null;
  watched(): readonly string[];
  watchRefused(): void;
  /** Says on this line what is watched. */
  watch(line: Line): void;
  /** Whether anyone needs a connection just now. */
  isWanted(): boolean;
  /** Sees to it that there is a state to which events can be applied; may throw. */
  load(): Promise<void>;
  apply(event: FeedEvent): void;
  moveTo(cursor: string): void;
  ephemeral(event: EphemeralEvent): void;
  /** The server does not know our cursor. */
  lost(): void;
  opened(line: Line): void;
  left(): void;
  changed(connected: Connected): void;
}

const SOONEST_RENEWAL_MS = 5_000;
const LONGEST_TIMER_MS = 60 * 60_000;

interface Wait {
  waitMs: number;
  /** What the server asked for: not to be cut short. */
  atLeastMs?: number;
}

export class Connection {
  readonly #links: ConnectionLinks;
  readonly #nap: Nap;
  #running: AbortController | null = null;
  #visit: TransportRun | null = null;
  #isResting = false;
  #waitsForPerson = false;
  #now: Connected = { state: 'closed', transport: null };

  constructor(links: ConnectionLinks) {
    this.#links = links;
    this.#nap = new Nap(links.environment.clock);
  }

  get now(): Connected {
    return this.#now;
  }

  get line(): Line {
    return this.#visit?.line ?? {};
  }

  start(): void {
    if (this.#running) return this.reconsider(true);
    this.#waitsForPerson = false;
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  stop(code?: number): void {
    this.#running?.abort();
    this.#running = null;
    this.#visit?.leave({ kind: 'again' });
    this.#become('closed', code);
  }

  /** Whether a connection is wanted may have changed, or the person has come back to it. */
  reconsider(isBack: boolean): void {
    if (isBack) this.#waitsForPerson = false;
    if (!this.#links.isWanted()) this.#visit?.leave({ kind: 'again' });
    if (this.#isResting) this.#nap.wake();
  }

  /** Do not wait out the backoff: the network is back, say. */
  hurry(): void {
    this.#nap.wake();
  }

  /** The device has no network. A socket may take minutes to notice, and would look alive so long. */
  unplug(): void {
    this.#visit?.leave({ kind: 'away', retryAfterMs: 0 });
  }

  /** What is watched has changed. A stream is told so only when it opens. */
  rewatch(): void {
    const line = this.#visit?.line;
    if (line?.watch) this.#links.watch(line);
    else if (this.#visit?.transport === 'sse') this.#visit.leave({ kind: 'again' });
  }

  /** A send met a server that is away. Where the feed is asked for, asking is the probe now. */
  doubt(problem: Problem): void {
    if (this.#visit?.transport !== 'poll' && this.#visit?.transport !== 'long-poll') return;
    this.#visit.leave({ kind: 'away', retryAfterMs: problem.retryAfterMs });
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#waitsForPerson || !this.#links.isWanted()) {
        await this.#rest(signal);
        continue;
      }
      if (this.#now.state === 'closed') this.#become('reconnecting');
      const end = await this.#attempt(signal);
      if (!signal.aborted) await this.#pause(this.#after(end), signal);
    }
  }

  async #rest(signal: AbortSignal): Promise<void> {
    this.#become('closed', this.#now.code);
    this.#isResting = true;
    await this.#nap.sleep(Infinity, signal);
    this.#isResting = false;
  }

  async #pause({ waitMs, atLeastMs = 0 }: Wait, signal: AbortSignal): Promise<void> {
    const { clock } = this.#links.environment;
    const readyAtMs = clock.now() + atLeastMs;
    if (waitMs > 0) await this.#nap.sleep(waitMs, signal);
    while (clock.now() < readyAtMs && !signal.aborted) {
      await this.#nap.sleep(readyAtMs - clock.now(), signal);
    }
  }

  async #attempt(signal: AbortSignal): Promise<End> {
    try {
      await this.#links.load();
    } catch (error) {
      return endOfLastResort(Problem.of(error));
    }
    if (signal.aborted || !this.#links.isWanted()) return { kind: 'again' };
    const transport = this.#links.transports[this.#links.ladder.current];
    const visit = (this.#visit = this.#newVisit(transport.name));
    // Whatever a given WebSocket or fetch may do, the next attempt comes.
    let end = await transport.run(visit).catch((): End => ({ kind: 'closed', code: 1006 }));
    if (end.kind === 'unopened') end = await this.#judge(visit);
    visit.leave(end);
    return visit.reason ?? end;
  }

  #newVisit(transport: TransportName): TransportRun {
    return new TransportRun(transport, {
      ...this.#links,
      clock: this.#links.environment.clock,
      opened: (visit) => this.#opened(visit),
      proven: (visit) => this.#proven(visit),
      left: () => this.#left(),
    });
  }

  /** It did not open. A plain request tells whose fault that is, and brings what is new. */
  async #judge(visit: TransportRun): Promise<End> {
    try {
      await catchUp(this.#links.http, visit);
      return { kind: 'unopened' };
    } catch (error) {
      return endOfLastResort(Problem.of(error));
    }
  }

  #opened(visit: TransportRun): void {
    this.#links.backoff.succeeded();
    this.#become(visit.transport === 'poll' ? 'polling' : 'live');
    this.#planRenewal(visit, this.#links.tokens.renewAtMs);
    this.#links.opened(visit.line);
  }

  #proven(visit: TransportRun): void {
    const { ladder, environment } = this.#links;
    ladder.opened();
    if (ladder.climbAtMs === Infinity) return;
    visit.after(ladder.climbAtMs - environment.clock.now(), () => {
      ladder.climb();
      visit.leave({ kind: 'again' });
    });
  }

  #left(): void {
    this.#visit = null;
    this.#links.left();
    const { state } = this.#now;
    if (state === 'live' || state === 'polling') this.#become('reconnecting');
  }

  /** A stream lives on with a fresh token before the one that opened it ends. */
  #planRenewal(visit: TransportRun, renewAtMs: number): void {
    const { tokens, environment } = this.#links;
    if (!visit.line.renew || renewAtMs === Infinity) return;
    const waitMs = Math.max(SOONEST_RENEWAL_MS, renewAtMs - environment.clock.now());
    const later = (atMs: number): void => this.#planRenewal(visit, atMs);
    visit.after(Math.min(LONGEST_TIMER_MS, waitMs), () => {
      if (environment.clock.now() < renewAtMs) return later(renewAtMs);
      tokens
        .get()
        .then((token) => visit.line.renew?.(token))
        .then(
          () => later(tokens.renewAtMs),
          () => later(renewAtMs),
        );
    });
  }

  /** What follows an end, and after which wait. */
  #after(end: End): Wait {
    const { backoff, ladder } = this.#links;
    switch (end.kind) {
      case 'again':
        return { waitMs: 0 };
      case 'lost':
        this.#links.lost();
        return { waitMs: backoff.failed() };
      case 'reset':
        // A restored server resets everybody at once, and a broken one without end.
        return { waitMs: backoff.failed() };
      case 'away':
        this.#become('offline');
        return { waitMs: backoff.failed(end.retryAfterMs), atLeastMs: end.retryAfterMs };
      case 'unopened':
        this.#become('reconnecting');
        return { waitMs: ladder.failed() ? 0 : backoff.failed() };
      case 'closed':
        return this.#afterClose(end.code, end.retryAfterMs, end.reconnect);
    }
  }

  #afterClose(code: number, retryAfterMs = 0, reconnect = true): Wait {
    this.#become('reconnecting');
    const { backoff, tokens, environment } = this.#links;
    switch (afterClose(code, reconnect)) {
      case 'stop':
        this.stop(code);
        return { waitMs: 0 };
      case 'person':
        this.#waitsForPerson = true;
        this.#become('closed', code);
        return { waitMs: 0 };
      case 'spread':
        return {
          waitMs: Math.max(retryAfterMs, environment.random() * RESTART_MS),
          atLeastMs: retryAfterMs,
        };
      case 'calm':
        return { waitMs: TOO_MANY_FRAMES_MS, atLeastMs: TOO_MANY_FRAMES_MS };
      case 'mended':
        return {
          waitMs: Math.max(retryAfterMs, environment.random() * UNREADABLE_MS),
          atLeastMs: retryAfterMs,
        };
      case 'renew':
        tokens.drop();
        return { waitMs: backoff.failed(retryAfterMs), atLeastMs: retryAfterMs };
      case 'return':
        return { waitMs: backoff.failed(retryAfterMs), atLeastMs: retryAfterMs };
    }
  }

  #become(state: ConnectionState, code?: number): void {
    const transport =
      state === 'live' || state === 'polling' ? (this.#visit?.transport ?? null) : null;
    const isSame =
      this.#now.state === state && this.#now.transport === transport && this.#now.code === code;
    if (isSame) return;
    this.#now = { state, transport, ...(code === undefined ? {} : { code }) };
    this.#links.changed(this.#now);
  }
}
