/** Where answers are not streamed: a request that waits for the first event. */

import type { Clock } from '../environment.js';
import type { Http } from '../http.js';
import { Problem } from '../problem.js';
import { catchUp, endOfLastResort, syncPage } from './poll.js';
import { type End, endOfRefused, type Session, type Transport } from './transport.js';

export const WAIT_S = 25;
/** Nothing, and so soon: whoever answered did not wait. */
const TOO_SOON_MS = 1_000;

export class LongPollTransport implements Transport {
  readonly name = 'long-poll';
  readonly #http: Http;
  readonly #clock: Clock;

  constructor(http: Http, clock: Clock) {
    this.#http = http;
    this.#clock = clock;
  }

  async run(session: Session): Promise<End> {
    try {
      // Without waiting first: it tells at once that the server is there.
      await catchUp(this.#http, session);
    } catch (error) {
      return endOfLastResort(Problem.of(error));
    }
    session.opened({});
    let isProven = false;
    const broken = (): End => (isProven ? { kind: 'closed', code: 1006 } : { kind: 'unopened' });
    while (!session.signal.aborted) {
      const askedAtMs = this.#clock.now();
      try {
        const { events } = await syncPage(this.#http, session, WAIT_S);
        if (events.length === 0 && this.#clock.now() - askedAtMs < TOO_SOON_MS) return broken();
      } catch (error) {
        const end = endOfRefused(Problem.of(error));
        return end.kind === 'unopened' ? broken() : end;
      }
      if (!isProven) session.proven();
      isProven = true;
    }
    return { kind: 'again' };
  }
}
