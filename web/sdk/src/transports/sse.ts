/** Where WebSockets are blocked: one long answer, read as it comes. */

import type { Environment } from '../environment.js';
import type { Http } from '../http.js';
import { Problem } from '../problem.js';
import type { EphemeralEvent, FeedEvent } from '../types.js';
import { type End, endOfRefused, type Session, type Transport } from './transport.js';

export const HELLO_WITHIN_MS = 10_000;
export const DEAD_AFTER_MS = 45_000;

interface ServerEvent {
  name: string;
  id: string;
  data: string;
}

/** Cuts text that comes in pieces into events; a comment is an event without data. */
export class EventReader {
  #rest = '';

  read(text: string): ServerEvent[] {
    this.#rest += text.replaceAll('\r', '');
    const blocks = this.#rest.split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.map(parseBlock);
  }
}

function parseBlock(block: string): ServerEvent {
  const event = { name: 'message', id: '', data: '' };
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(event|id|data): ?(.*)$/.exec(line) ?? [];
    if (field === 'event') event.name = value;
    if (field === 'id') event.id = value;
    if (field === 'data') event.data += value;
  }
  return event;
}

/** Fetch instead of EventSource, which cannot set headers. */
export class SseTransport implements Transport {
  readonly name = 'sse';
  readonly #http: Http;
  readonly #environment: Environment;

  constructor(http: Http, environment: Environment) {
    this.#http = http;
    this.#environment = environment;
  }

  async run(session: Session): Promise<End> {
    const reading = new AbortController();
    const stop = (): void => reading.abort();
    const stream = new Stream(this.#http, session, this.#environment, stop);
    session.signal.addEventListener('abort', stop);
    try {
      return await stream.run(reading.signal);
    } catch (error) {
      if (session.signal.aborted) return { kind: 'again' };
      return stream.isOpen ? { kind: 'closed', code: 1006 } : endOfRefused(Problem.of(error));
    } finally {
      stream.quieten();
      stop();
      session.signal.removeEventListener('abort', stop);
    }
  }
}

class Stream {
  isOpen = false;
  #isRefused = false;
  readonly #http: Http;
  readonly #session: Session;
  readonly #environment: Environment;
  readonly #stop: () => void;
  #timer: unknown;

  constructor(http: Http, session: Session, environment: Environment, stop: () => void) {
    this.#http = http;
    this.#session = session;
    this.#environment = environment;
    this.#stop = stop;
  }

  async run(signal: AbortSignal): Promise<End> {
    this.#expect(HELLO_WITHIN_MS);
    const answer = await this.#request(signal, this.#session.watched.join(','));
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
    if (!answer.body || !isStream) return { kind: 'unopened' };
    const reader = answer.body.getReader();
    signal.addEventListener('abort', () => void reader.cancel().catch(() => {}));
    const decoder = new TextDecoder();
    const events = new EventReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return this.isOpen ? { kind: 'closed', code: 1006 } : { kind: 'unopened' };
      for (const event of events.read(decoder.decode(value, { stream: true }))) {
        const end = this.#take(event);
        if (end) return end;
      }
      // Before its hello, a stream that trickles is not open yet.
      if (this.isOpen) this.#expect(DEAD_AFTER_MS);
    }
  }

  async #request(signal: AbortSignal, watch: string): Promise<Response> {
    const query = { since: this.#session.cursor, watch: watch || undefined };
    try {
      return await this.#http.open('GET', '/v1/stream', { query, signal });
    } catch (error) {
      // A watched thread of which the person is no longer part must not cost them the rest.
      if (watch && Problem.of(error).code === 'THREAD_NOT_FOUND') {
        this.#isRefused = true;
        return this.#request(signal, '');
      }
      throw error;
    }
  }

  quieten(): void {
    this.#environment.clock.clearTimeout(this.#timer);
  }

  #take({ name, id, data }: ServerEvent): End | null {
    // An id alone: nothing to see, but the place has moved.
    if (!data && id) this.#session.deliver([], id);
    if (!data) return null;
    const said = JSON.parse(data) as unknown;
    if (name === 'hello') this.#opened((said as { stream: string }).stream);
    if (name === 'close') return closeOf(said as ServerClose);
    if (name === 'message') this.#deliver(said as FeedEvent | EphemeralEvent);
    return null;
  }

  #opened(stream: string): void {
    this.isOpen = true;
    this.#session.opened({
      ack: (cursor) => void this.#post('/v1/sync/ack', { cursor }).catch(() => {}),
      renew: () => this.#post(`/v1/streams/${encodeURIComponent(stream)}/renew`),
    });
    this.#session.proven();
    if (this.#isRefused) this.#session.watchRefused();
  }

  /** With the token that is fresh now. An acknowledgement that is lost is made up by the next. */
  #post(path: string, body?: object): Promise<unknown> {
    return this.#http.call('POST', path, { body, signal: this.#session.signal });
  }

  #deliver(event: FeedEvent | EphemeralEvent): void {
    if (event.type === 'typing' || event.type === 'presence') this.#session.ephemeral(event);
    else if (event.cursor) this.#session.deliver([event], event.cursor);
  }

  #expect(withinMs: number): void {
    this.quieten();
    this.#timer = this.#environment.clock.setTimeout(this.#stop, withinMs);
  }
}

interface ServerClose {
  code: number;
  reconnect?: boolean;
  retry_after_ms?: number;
}

function closeOf({ code, reconnect = true, retry_after_ms = 0 }: ServerClose): End {
  return { kind: 'closed', code, reconnect, retryAfterMs: retry_after_ms };
}
