/** A server of one person's feed, as docs/realtime.md describes it, that can be made to fail. */

import type { Socket } from '../src/environment.js';
import type { FeedEvent, Message } from '../src/types.js';
import type { FakeClock } from './fakes.js';
import { AT, event, message, row, thread } from './things.js';

type Body = Record<string, unknown>;
type Reply = Response | Promise<Response>;

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  body: Body;
  token: string;
  key: string | undefined;
}

export class FakeServer {
  readonly clock: FakeClock;
  readonly asked: Asked[] = [];
  readonly sockets: FakeSocket[] = [];
  readonly streams = new Set<FakeStream>();
  /** The feed: event n has the cursor `e-n`. */
  readonly feed: FeedEvent[] = [];
  readonly messages: Message[] = [];
  /** Every frame that clients said. */
  readonly said: Body[] = [];
  /** What each request meets before it is looked at. */
  meets: (asked: Asked) => Reply | null = () => null;
  /** Whether sockets are let in. */
  watchable: (threadId: string) => boolean = () => true;
  readonly online = new Map<string, Set<string>>();
  takesSockets = true;
  /** Whether sockets answer. */
  socketsAnswer = true;
  /** How many events a page of `sync` has. */
  page = 100;
  limits = { watched_threads: 50 };
  acknowledged: string[] = [];
  #tickets = 0;
  readonly #waiting = new Set<() => void>();

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  /** Nothing answers any more, and what was open breaks. */
  goAway(): void {
    this.meets = () => Promise.reject(new TypeError('connection refused'));
    this.takesSockets = false;
    this.breakAll();
  }

  answerWith(status: number, headers: Record<string, string> = {}): void {
    this.meets = () => problem(status, 'UNAVAILABLE', headers);
    this.takesSockets = false;
  }

  comeBack(): void {
    this.meets = () => null;
    this.takesSockets = true;
  }

  breakAll(): void {
    for (const socket of [...this.sockets]) socket.hangUp(1006);
    for (const stream of [...this.streams]) stream.fail();
  }

  count(method: string, path: string): number {
    return this.asked.filter((each) => each.method === method && each.path === path).length;
  }

  get cursor(): string {
    return `e-${this.feed.length.toString(16)}`;
  }

  tell(type: FeedEvent['type'], more: Partial<FeedEvent> = {}): FeedEvent {
    const cursor = `e-${(this.feed.length + 1).toString(16)}`;
    const told = event(type, { ...more, cursor });
    this.feed.push(told);
    for (const socket of this.sockets) if (socket.isOpen) socket.say(told);
    for (const stream of this.streams) stream.say(told);
    for (const wake of [...this.#waiting]) wake();
    return told;
  }

  /** Somebody else writes. */
  write(body: string, threadId = 'thr_1'): Message {
    return this.#append({ thread_id: threadId, body, author_id: 'mia' });
  }

  whisper(frame: object): void {
    for (const socket of this.sockets) if (socket.isOpen) socket.say(frame);
    for (const stream of this.streams) stream.say(frame);
  }

  send(threadId: string, body: Body): { message: Message; repeat: boolean } {
    const found = this.messages.find((each) => each.client_id === body['client_id']);
    if (found) return { message: found, repeat: true };
    const more = { client_id: String(body['client_id']), body: String(body['body']) };
    const sent = this.#append({ thread_id: threadId, author_id: 'ben', ...more });
    return { message: sent, repeat: false };
  }

  #append(more: Partial<Message>): Message {
    const written = message(this.messages.length + 1, more);
    this.messages.push(written);
    this.tell('message.new', {
      thread_id: written.thread_id,
      message: written,
      inbox: row(written.thread_id),
    });
    return written;
  }

  readonly fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input));
    const headers = init.headers as Record<string, string>;
    const asked: Asked = {
      method: init.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      body: init.body ? (JSON.parse(String(init.body)) as Body) : {},
      token: (headers['authorization'] ?? '').replace('Bearer ', ''),
      key: headers['idempotency-key'],
    };
    this.asked.push(asked);
    const signal = init.signal ?? new AbortController().signal;
    return abortable(signal, async () => (await this.meets(asked)) ?? this.#answer(asked, signal));
  };

  async #answer(asked: Asked, signal: AbortSignal): Promise<Response> {
    const [, , noun, id = '', what] = asked.path.split('/');
    switch (`${asked.method} ${noun}${what ? `/${what}` : ''}`) {
      case 'GET inbox':
        return json({ ...this.#inbox(), next_cursor: null, counts: {}, sync_cursor: this.cursor });
      case 'GET limits':
        return json({ limits: this.limits });
      case 'POST tickets':
        return json({ ticket: `ticket-${(this.#tickets += 1)}` });
      case 'GET sync':
        return this.#sync(asked.query, signal);
      case 'POST sync':
        this.acknowledged.push(String(asked.body['cursor']));
        return new Response(null, { status: 204 });
      case 'GET stream':
        return new FakeStream(this, asked.query.get('since') ?? '', signal).answer;
      case 'GET threads':
        return json({ thread: thread(id), inbox: row(id), sync_cursor: this.cursor });
      case 'GET threads/messages': {
        const items = this.messages.filter((each) => each.thread_id === id).slice(-50);
        return json({ items, has_more: false, sync_cursor: this.cursor });
      }
      case 'POST threads/messages': {
        const { message: sent, repeat } = this.send(id, asked.body);
        return json(sent, repeat ? 200 : 201);
      }
      default:
        return new Response(null, { status: 204 });
    }
  }

  #inbox(): object {
    const ids = new Set(['thr_1', ...this.messages.map((each) => each.thread_id)]);
    return { items: [...ids].map((id) => ({ thread: thread(id), inbox: row(id) })) };
  }

  async #sync(query: URLSearchParams, signal: AbortSignal): Promise<Response> {
    const since = query.get('since') ?? '';
    const waitS = Number(query.get('wait') ?? 0);
    if (waitS > 0 && this.after(since).length === 0) await this.#news(waitS * 1000, signal);
    const news = this.after(since);
    const events = news.slice(0, this.page);
    const cursor = events.at(-1)?.cursor ?? this.cursor;
    return json({ events, cursor, has_more: news.length > events.length });
  }

  #news(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        this.clock.clearTimeout(timer);
        resolve();
      };
      const timer = this.clock.setTimeout(wake, waitMs);
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  /** What a cursor has not seen; one of another installation gets a reset. */
  after(since: string): FeedEvent[] {
    const [epoch, number = '0'] = since.split('-');
    if (since && epoch !== 'e') return [event('reset', { cursor: this.cursor, thread_id: '' })];
    return this.feed.slice(parseInt(number, 16));
  }

  get WebSocket(): new (url: string) => FakeSocket {
    const server = this;
    return class extends FakeSocket {
      constructor(url: string) {
        super(server, url);
      }
    };
  }
}

export class FakeSocket implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  onerror: (() => void) | null = null;
  readonly url: URL;
  isOpen = false;
  isGone = false;
  watched: readonly string[] = [];
  /** Frames of this one socket. */
  readonly said: Body[] = [];
  readonly #server: FakeServer;

  constructor(server: FakeServer, url: string) {
    this.#server = server;
    this.url = new URL(url);
    server.sockets.push(this);
    queueMicrotask(() => this.#arrive());
  }

  #arrive(): void {
    if (this.isGone) return;
    if (!this.#server.takesSockets) return this.hangUp(1006);
    this.isOpen = true;
    this.onopen?.();
    for (const told of this.#server.after(this.url.searchParams.get('since') ?? '')) this.say(told);
  }

  send(text: string): void {
    const frame = JSON.parse(text) as Body;
    this.said.push(frame);
    this.#server.said.push(frame);
    if (this.isOpen && this.#server.socketsAnswer) queueMicrotask(() => this.#answer(frame));
  }

  #answer(frame: Body): void {
    const ref = frame['ref'];
    if (!this.isOpen) return;
    if (frame['type'] === 'ping') this.say({ type: 'pong', ref });
    else if (frame['type'] === 'send') {
      this.say({ type: 'sent', ref, ...this.#server.send(String(frame['thread_id']), frame) });
    } else if (frame['type'] === 'ack') this.#server.acknowledged.push(String(frame['cursor']));
    else if (frame['type'] === 'watch') this.#watch(frame['threads'] as string[], ref);
    else if (ref) this.say({ type: 'done', ref });
  }

  /** All or none, and the present state of those that are watched. */
  #watch(threads: readonly string[], ref: unknown): void {
    if (!threads.every((id) => this.#server.watchable(id))) {
      const code = 'THREAD_NOT_FOUND';
      return this.say({ type: 'error', ref, status: 404, code, title: 'There is no such thread' });
    }
    if (threads.length > this.#server.limits.watched_threads) {
      const code = 'INVALID_REQUEST';
      return this.say({ type: 'error', ref, status: 400, code, title: 'Too many threads' });
    }
    this.watched = threads;
    for (const id of threads)
      for (const who of this.#server.online.get(id) ?? []) {
        this.say({ type: 'presence', thread_id: id, user_id: who, online: true, at: AT });
      }
    this.say({ type: 'done', ref });
  }

  say(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  /** The server's side ends it. */
  hangUp(code: number): void {
    if (this.isGone) return;
    this.close();
    this.onclose?.({ code });
  }

  close(): void {
    this.isOpen = false;
    this.isGone = true;
  }
}

export class FakeStream {
  readonly answer: Response;
  readonly #server: FakeServer;
  #writer: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(server: FakeServer, since: string, signal: AbortSignal) {
    this.#server = server;
    const body = new ReadableStream<Uint8Array>({
      start: (writer) => void (this.#writer = writer),
    });
    this.answer = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    server.streams.add(this);
    signal.addEventListener('abort', () => this.fail());
    this.#write('event: hello\ndata: {"stream": "str_1", "expires_at": ""}\n\n');
    for (const told of server.after(since)) this.say(told);
  }

  say(told: object): void {
    const { cursor } = told as { cursor?: string };
    this.#write(`${cursor ? `id: ${cursor}\n` : ''}data: ${JSON.stringify(told)}\n\n`);
  }

  beat(): void {
    this.#write(':\n\n');
  }

  move(cursor: string): void {
    this.#write(`id: ${cursor}\n\n`);
  }

  bye(close: object): void {
    this.#write(`event: close\ndata: ${JSON.stringify(close)}\n\n`);
  }

  fail(): void {
    if (this.#server.streams.delete(this)) this.#writer?.error(new TypeError('broken'));
  }

  #write(text: string): void {
    this.#writer?.enqueue(new TextEncoder().encode(text));
  }
}

export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status });
}

export function problem(
  status: number,
  code: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify({ status, code, title: code }), { status, headers });
}

function abortable(signal: AbortSignal, work: () => Promise<Response>): Promise<Response> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new DOMException('aborted', 'AbortError'));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort);
    work().then(resolve, reject);
  });
}
