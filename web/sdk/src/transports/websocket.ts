/** First choice: pushes, and takes sends. */

import type { Environment, Socket } from '../environment.js';
import { type Http, queryText } from '../http.js';
import { Problem, type ProblemDocument } from '../problem.js';
import type { EphemeralEvent, FeedEvent, Message, NewMessage } from '../types.js';
import {
  awayAfter,
  type End,
  endOfRefused,
  type Line,
  type Session,
  type Transport,
} from './transport.js';

export const OPEN_WITHIN_MS = 10_000;
export const QUIET_MS = 25_000;
export const DEAD_AFTER_MS = 10_000;
export const ANSWER_WITHIN_MS = 20_000;

type Frame =
  | { type: 'sent' | 'done' | 'pong'; ref?: string; message?: Message }
  | ({ type: 'error'; ref?: string } & ProblemDocument)
  | EphemeralEvent
  | FeedEvent;

interface Asked {
  resolve(frame: { message?: Message }): void;
  reject(problem: Problem): void;
}

export class WebSocketTransport implements Transport {
  readonly name = 'websocket';
  readonly #base: string;
  readonly #http: Http;
  readonly #environment: Environment;

  constructor(base: string, http: Http, environment: Environment) {
    this.#base = base.replace(/^http/, 'ws');
    this.#http = http;
    this.#environment = environment;
  }

  async run(session: Session): Promise<End> {
    const Constructor = this.#environment.WebSocket;
    if (!Constructor) return { kind: 'unopened' };
    let ticket: string;
    try {
      // A browser cannot set headers on a WebSocket.
      const { signal } = session;
      ticket = (await this.#http.call<{ ticket: string }>('POST', '/v1/tickets', { signal }))
        .ticket;
    } catch (error) {
      const problem = Problem.of(error);
      return problem.isAway ? awayAfter(problem) : endOfRefused(problem);
    }
    if (session.signal.aborted) return { kind: 'again' };
    const url = `${this.#base}/v1/ws${queryText({ since: session.cursor, ticket })}`;
    let socket: Socket;
    try {
      socket = new Constructor(url);
    } catch {
      return { kind: 'unopened' };
    }
    return new Conversation(socket, session, this.#environment).ended;
  }
}

/** One socket's life. It counts as open with the first frame that comes back. */
class Conversation implements Line {
  readonly ended: Promise<End>;
  readonly #socket: Socket;
  readonly #session: Session;
  readonly #environment: Environment;
  readonly #asked = new Map<string, Asked>();
  #finish: (end: End) => void = () => {};
  #isOpen = false;
  #isOver = false;
  #refs = 0;
  #timer: unknown;

  constructor(socket: Socket, session: Session, environment: Environment) {
    this.#socket = socket;
    this.#session = session;
    this.#environment = environment;
    this.ended = new Promise((resolve) => (this.#finish = resolve));
    const leave = (): void => this.#end({ kind: 'again' });
    session.signal.addEventListener('abort', leave, { once: true });
    socket.onopen = () => this.#say({ type: 'ping' });
    socket.onmessage = (event) => this.#hear(event.data);
    socket.onclose = (event) => this.#closed(event.code);
    // A close follows each error.
    socket.onerror = () => {};
    this.#expect(OPEN_WITHIN_MS, () => this.#end({ kind: 'unopened' }));
  }

  async send(threadId: string, message: NewMessage): Promise<Message> {
    const answer = await this.#ask({ type: 'send', thread_id: threadId, ...message });
    return answer.message as Message;
  }

  typing(threadId: string, on: boolean): void {
    this.#say({ type: 'typing', thread_id: threadId, on });
  }

  watch(threads: readonly string[]): Promise<unknown> {
    return this.#ask({ type: 'watch', threads });
  }

  ack(cursor: string): void {
    this.#say({ type: 'ack', cursor });
  }

  renew(token: string): Promise<unknown> {
    return this.#ask({ type: 'auth', token });
  }

  #ask(frame: object): Promise<{ message?: Message }> {
    if (this.#isOver) return Promise.reject(Problem.interrupted());
    const { clock } = this.#environment;
    const ref = String((this.#refs += 1));
    return new Promise<{ message?: Message }>((resolve, reject) => {
      const late = clock.setTimeout(
        () => reject(Problem.unreachable('no answer')),
        ANSWER_WITHIN_MS,
      );
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T): void => {
          clock.clearTimeout(late);
          how(value);
        };
      this.#asked.set(ref, { resolve: settle(resolve), reject: settle(reject) });
      this.#say({ ...frame, ref });
    }).finally(() => this.#asked.delete(ref));
  }

  #say(frame: object): void {
    if (!this.#isOver) this.#socket.send(JSON.stringify(frame));
  }

  #hear(data: unknown): void {
    if (this.#isOver) return;
    let frame: Frame;
    try {
      frame = JSON.parse(String(data)) as Frame;
    } catch {
      return;
    }
    this.#expect(QUIET_MS, () => this.#ping());
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#session.opened(this);
      this.#session.proven();
    }
    this.#take(frame);
  }

  #take(frame: Frame): void {
    switch (frame.type) {
      case 'sent':
      case 'done':
      case 'pong':
        return this.#asked.get(frame.ref ?? '')?.resolve(frame);
      case 'error':
        return this.#asked.get(frame.ref ?? '')?.reject(new Problem(frame));
      case 'typing':
      case 'presence':
        return this.#session.ephemeral(frame);
      default:
        if (frame.cursor) this.#session.deliver([frame], frame.cursor);
    }
  }

  /** A browser does not show the server's pings, so silence has to be asked about. */
  #ping(): void {
    this.#say({ type: 'ping' });
    this.#expect(DEAD_AFTER_MS, () => this.#end({ kind: 'closed', code: 1006 }));
  }

  #expect(withinMs: number, otherwise: () => void): void {
    const { clock } = this.#environment;
    clock.clearTimeout(this.#timer);
    this.#timer = clock.setTimeout(otherwise, withinMs);
  }

  #closed(code: number): void {
    const isNamed = this.#isOpen || code === 1012 || code >= 4000;
    this.#end(isNamed ? { kind: 'closed', code } : { kind: 'unopened' });
  }

  #end(end: End): void {
    this.#isOver = true;
    this.#environment.clock.clearTimeout(this.#timer);
    this.#socket.onmessage = this.#socket.onopen = this.#socket.onclose = null;
    this.#socket.close();
    for (const asked of this.#asked.values()) asked.reject(Problem.interrupted());
    this.#finish(end);
  }
}
