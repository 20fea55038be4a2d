/** What went wrong, in the form in which the server says it (RFC 9457). */

import type { Card } from './types.js';

export interface ProblemDocument {
  status: number;
  code: string;
  title: string;
  detail?: string | null;
  hint?: string;
  corr_id?: string;
  retry_after_s?: number;
  /** The card as it is now, where an action came too late. */
  card?: Card;
  /** The file because of which a message was refused. */
  file_id?: string;
}

const PASSING = new Set([0, 401, 408, 425, 429]);
const NOT_IMPLEMENTED = 501;

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number;
  readonly document: ProblemDocument;

  constructor(document: ProblemDocument, retryAfterMs = (document.retry_after_s ?? 0) * 1000) {
    super(document.detail || document.title);
    this.name = 'Problem';
    this.status = document.status;
    this.code = document.code;
    this.retryAfterMs = retryAfterMs;
    this.document = document;
  }

  /** Nothing answered, or not our server. Whether the request took effect is unknown. */
  static unreachable(cause: unknown): Problem {
    const detail = cause instanceof Error ? cause.message : String(cause);
    return new Problem({
      status: 0,
      code: 'UNREACHABLE',
      title: 'The server does not answer',
      detail,
    });
  }

  /** The connection ended before the answer came. */
  static interrupted(): Problem {
    return new Problem({
      status: 0,
      code: 'INTERRUPTED',
      title: 'The connection ended before the answer',
    });
  }

  static discarded(): Problem {
    return new Problem({ status: 0, code: 'DISCARDED', title: 'The send was discarded' });
  }

  /** The page's own site gave no token for its visitor. Whoever signs in there can go on. */
  static noToken(status: number): Problem {
    const isRefused = status === 401 || status === 403;
    return new Problem({
      status: isRefused ? 401 : 0,
      code: isRefused ? 'UNAUTHENTICATED' : 'UNREACHABLE',
      title: 'There is no token for this visitor',
      detail: `The token's address answered ${status}`,
    });
  }

  static of(error: unknown): Problem {
    return error instanceof Problem ? error : Problem.unreachable(error);
  }

  /** The same request may well succeed later. */
  get isTransient(): boolean {
    return PASSING.has(this.status) || (this.status >= 500 && this.status !== NOT_IMPLEMENTED);
  }

  /** The server as a whole is away or has too much to do: other requests would fare the same. */
  get isAway(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}
