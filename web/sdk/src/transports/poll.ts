/** The last resort, which always works: ask, wait, ask again. */

import type { Http, Request } from '../http.js';
import type { PollInterval } from '../poll_interval.js';
import { Problem } from '../problem.js';
import type { SyncPage } from '../types.js';
import { awayAfter, type End, type Session, type Transport } from './transport.js';

const GRACE_MS = 10_000;

/** One page of what is new, delivered. Asking with `since` acknowledges what came before. */
export async function syncPage(http: Http, session: Session, waitS?: number): Promise<SyncPage> {
  const request: Request = {
    query: { since: session.cursor, wait: waitS },
    signal: session.signal,
  };
  if (waitS !== undefined) request.timeoutMs = waitS * 1000 + GRACE_MS;
  const page = await http.call<SyncPage>('GET', '/v1/sync', request);
  session.deliver(page.events, page.cursor);
  return page;
}

/** Everything that is new by now. */
export async function catchUp(http: Http, session: Session): Promise<void> {
  while ((await syncPage(http, session)).has_more && !session.signal.aborted);
}

export class PollTransport implements Transport {
  readonly name = 'poll';
  readonly #http: Http;
  readonly #pollInterval: PollInterval;

  constructor(http: Http, pace: PollInterval) {
    this.#http = http;
    this.#pollInterval = pace;
  }

  async run(session: Session): Promise<End> {
    let isOpen = false;
    while (!session.signal.aborted) {
      try {
        await catchUp(this.#http, session);
      } catch (error) {
        return endOfLastResort(Problem.of(error));
      }
      if (!isOpen) {
        isOpen = true;
        session.opened({});
        session.proven();
      }
      await this.#pollInterval.wait(session.signal);
    }
    return { kind: 'again' };
  }
}

/** Where a plain request is refused there is nothing else to try. */
export function endOfLastResort(problem: Problem): End {
  // By our own codes: a proxy's refusal is not the server's last word.
  if (problem.code === 'INVALID_REQUEST') return { kind: 'lost' };
  if (problem.code === 'FORBIDDEN') return { kind: 'closed', code: 4403 };
  if (problem.status === 401) return { kind: 'closed', code: 4401 };
  return awayAfter(problem);
}
