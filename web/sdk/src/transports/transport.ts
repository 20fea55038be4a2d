/** What the four ways to the feed have in common. */

import { Problem } from '../problem.js';
import type { EphemeralEvent, FeedEvent, Message, NewMessage } from '../types.js';

export type TransportName = 'websocket' | 'sse' | 'long-poll' | 'poll';

/** How an attempt ended, or the connection that it led to. */
export type End =
  /** Nothing answers, or the answer is that it is too much just now. */
  | { kind: 'away'; retryAfterMs: number }
  /** This way in does not work; the server may be well. */
  | { kind: 'unopened' }
  /** With a code of docs/realtime.md; 1006 when there was no farewell. */
  | { kind: 'closed'; code: number; retryAfterMs?: number; reconnect?: boolean }
  /** The server cannot read our cursor: load everything anew. */
  | { kind: 'lost' }
  /** There was a gap, and the cursor is the one after it: load everything anew. */
  | { kind: 'reset' }
  /** Our own doing: go on at once. */
  | { kind: 'again' };

/** What can be said on an open connection; what is missing goes by REST or not at all. */
export interface Line {
  send?(threadId: string, message: NewMessage): Promise<Message>;
  typing?(threadId: string, on: boolean): void;
  /** Rejects with a problem where the server refuses it. */
  watch?(threadIds: readonly string[]): Promise<unknown>;
  ack?(cursor: string): void;
  renew?(token: string): Promise<unknown>;
}

/** One connection's link to the client. Once it was left, nothing that it tells is heard. */
export interface Session {
  /** The place in the feed to go on from. */
  readonly cursor: string;
  readonly watched: readonly string[];
  /** The server does not let the person watch these. */
  watchRefused(): void;
  /** Aborted when the client leaves this session. */
  readonly signal: AbortSignal;
  /** The server is there: sends may go. */
  opened(line: Line): void;
  /** This transport does what it is for, so it is the one to use here. */
  proven(): void;
  /** In order; `cursor` is the place after all of them. */
  deliver(events: readonly FeedEvent[], cursor: string): void;
  ephemeral(event: EphemeralEvent): void;
}

export interface Transport {
  readonly name: TransportName;
  /** Runs until the connection has ended; never throws. */
  run(session: Session): Promise<End>;
}

/** What a refused request means for a transport that is not the last resort. */
export function endOfRefused(problem: Problem): End {
  if (problem.status === 401) return { kind: 'closed', code: 4401 };
  if (problem.status === 429 || problem.status === 503) return awayAfter(problem);
  return { kind: 'unopened' };
}

export function awayAfter(problem: Problem): End {
  return { kind: 'away', retryAfterMs: problem.retryAfterMs };
}
