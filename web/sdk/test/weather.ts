/** The way between a page and the world: each answer is of one moment, and comes at a later one. */

import type { Clock, Socket } from '../src/environment.js';
import { json, problem } from './server.js';
import { Refused, type World } from './world.js';

type Body = Record<string, unknown>;

const ON_TIME_MS = 300;
const LATE_MS = 6_000;
/** Longer than anyone waits for an answer. */
const NEVER_MS = 25_000;

export class Weather {
  readonly world: World;
  readonly clock: Clock;
  readonly random: () => number;
  /** How much of what is asked or answered gets lost, from 0 to 1. */
  loss = 0;
  /** How much of it is late. */
  lateness = 0;
  isAway = false;
  /** Parts of addresses that nothing gets through to. */
  blocked: readonly string[] = [];
  readonly #lines = new Set<Pushing>();

  constructor(world: World, clock: Clock, random: () => number) {
    this.world = world;
    this.clock = clock;
    this.random = random;
    world.listeners.add(() => {
      for (const line of this.#lines) line.lookSoon();
    });
  }

  /** What is open breaks: what was on its way is lost. */
  breakAll(): void {
    for (const line of [...this.#lines]) line.break();
  }

  clearUp(): void {
    Object.assign(this, { loss: 0, lateness: 0, isAway: false, blocked: [] });
  }

  delayMs(): number {
    const roll = this.random();
    const most = roll < this.lateness / 10 ? NEVER_MS : roll < this.lateness ? LATE_MS : ON_TIME_MS;
    return Math.floor(this.random() * most);
  }

  isLost(path: string): boolean {
    const isBlocked = this.blocked.some((part) => path.includes(part));
    return this.isAway || isBlocked || this.random() < this.loss;
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.setTimeout(resolve, ms));
  }

  readonly fetch = (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input));
    const signal = init.signal ?? new AbortController().signal;
    const body = init.body ? (JSON.parse(String(init.body)) as Body) : {};
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(new DOMException('aborted', 'AbortError'));
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort);
      this.#carry(url, init.method ?? 'GET', body, signal).then(resolve, reject);
    });
  };

  async #carry(url: URL, method: string, body: Body, signal: AbortSignal): Promise<Response> {
    const path = url.pathname + url.search;
    await this.wait(this.delayMs());
    if (this.isLost(path)) throw new TypeError('lost on the way there');
    const answer = await this.#answer(url, method, body, signal);
    if (answer.headers.get('content-type') === 'text/event-stream') return answer;
    await this.wait(this.delayMs());
    if (this.isLost(path)) throw new TypeError('lost on the way back');
    return answer;
  }

  async #answer(url: URL, method: string, body: Body, signal: AbortSignal): Promise<Response> {
    const { searchParams: query } = url;
    try {
      if (url.pathname === '/v1/stream') {
        return new Stream(this, query.get('since') ?? '', signal).answer;
      }
      if (query.has('wait')) await this.#news(query.get('since') ?? '', Number(query.get('wait')));
      return json(this.#said(url, method, body) ?? {});
    } catch (error) {
      if (error instanceof Refused) return problem(error.status, error.code);
      throw error;
    }
  }

  #said(url: URL, method: string, body: Body): unknown {
    const { world } = this;
    const [, , noun, id = '', what = '', part = ''] = url.pathname.split('/');
    const query = url.searchParams;
    const limit = Number(query.get('limit') ?? 50);
    switch (`${method} ${noun} ${what}`.trim()) {
      case 'GET inbox': {
        const most = query.has('limit') ? Math.min(limit, world.rowsPage) : world.rowsPage;
        return world.inbox(query.get('folder') ?? 'all', query.get('cursor'), most);
      }
      case 'GET limits':
        return { limits: { watched_threads: 50 } };
      case 'POST tickets':
        return { ticket: 'ticket' };
      case 'GET sync':
        return world.sync(query.get('since') ?? '');
      case 'GET threads':
        return world.thread(id);
      case 'GET threads messages':
        return world.messages(id, query.get('before'), limit);
      case 'POST threads messages':
        return world.send(id, String(body['client_id']), String(body['body']));
      case 'PATCH threads messages':
        return { message: world.change(world.access(id), seqOf(part), String(body['body'])) };
      case 'DELETE threads messages':
        return { message: world.erase(world.access(id), seqOf(part)) };
      case 'POST threads read':
        return { inbox: world.read(world.access(id), seqOf(String(body['up_to']))) };
      case 'PATCH threads me':
        return { inbox: world.arrange(world.access(id), body) };
      case 'POST cards accept':
        return { card: world.act(id) };
      default:
        return null;
    }
  }

  #news(since: string, waitS: number): Promise<void> {
    const { world, clock } = this;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        world.listeners.delete(look);
        clock.clearTimeout(timer);
        resolve();
      };
      const look = (): void => {
        try {
          const { events, cursor } = world.sync(since);
          if (events.length > 0 || cursor !== since) end();
        } catch (error) {
          reject(error);
        }
      };
      const timer = clock.setTimeout(end, waitS * 1000);
      world.listeners.add(look);
      look();
    });
  }

  keep(line: Pushing): void {
    this.#lines.add(line);
  }

  drop(line: Pushing): void {
    this.#lines.delete(line);
  }

  /** Sockets of pages that talk through this weather. */
  get WebSocket(): new (url: string) => Socket {
    const weather = this;
    return class extends WorldSocket {
      constructor(url: string) {
        super(weather, url);
      }
    };
  }
}

/** One side of a connection on which the world tells what is new, in order, each a while later. */
abstract class Pushing {
  protected readonly weather: Weather;
  protected isOver = false;
  #cursor: string;
  #isLooking = false;
  #lastAtMs = 0;

  constructor(weather: Weather, since: string) {
    this.weather = weather;
    this.#cursor = since;
    weather.keep(this);
  }

  abstract tell(frame: object, cursor?: string): void;
  abstract broken(): void;

  lookSoon(): void {
    if (this.#isLooking || this.isOver) return;
    this.#isLooking = true;
    this.weather.clock.setTimeout(() => {
      this.#isLooking = false;
      this.#look();
    }, this.weather.delayMs());
  }

  #look(): void {
    if (this.isOver) return;
    try {
      const { events, cursor, has_more } = this.weather.world.sync(this.#cursor);
      this.#cursor = cursor;
      for (const event of events) this.later(() => this.tell(event, event.cursor));
      if (has_more) this.lookSoon();
    } catch {
      this.break();
    }
  }

  /** After everything that is on its way already. */
  protected later(run: () => void): void {
    const { clock } = this.weather;
    this.#lastAtMs = Math.max(this.#lastAtMs, clock.now() + this.weather.delayMs());
    clock.setTimeout(() => {
      if (!this.isOver) run();
    }, this.#lastAtMs - clock.now());
  }

  break(): void {
    if (this.isOver) return;
    this.over();
    this.broken();
  }

  over(): void {
    this.isOver = true;
    this.weather.drop(this);
  }
}

class WorldSocket extends Pushing implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  onerror: (() => void) | null = null;

  constructor(weather: Weather, url: string) {
    super(weather, new URL(url).searchParams.get('since') ?? '');
    this.later(() => {
      if (weather.isLost('/v1/ws')) return this.break();
      this.onopen?.();
      this.lookSoon();
    });
  }

  send(text: string): void {
    const frame = JSON.parse(text) as Body;
    if (this.weather.random() < this.weather.loss) return this.break();
    this.later(() => this.#answer(frame));
  }

  #answer(frame: Body): void {
    const { ref, type } = frame;
    try {
      if (type === 'ping') this.later(() => this.tell({ type: 'pong', ref }));
      if (type !== 'send') return;
      const { world } = this.weather;
      const threadId = String(frame['thread_id']);
      const sent = world.send(threadId, String(frame['client_id']), String(frame['body']));
      this.later(() => this.tell({ type: 'sent', ref, message: sent, repeat: false }));
    } catch (error) {
      const { status, code } = error as Refused;
      this.later(() => this.tell({ type: 'error', ref, status, code, title: code }));
    }
  }

  tell(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  broken(): void {
    this.onclose?.({ code: 1006 });
  }

  close(): void {
    this.over();
  }
}

class Stream extends Pushing {
  readonly answer: Response;
  #writer: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(weather: Weather, since: string, signal: AbortSignal) {
    weather.world.sync(since);
    super(weather, since);
    const body = new ReadableStream<Uint8Array>({
      start: (writer) => void (this.#writer = writer),
    });
    this.answer = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    signal.addEventListener('abort', () => this.break());
    this.#write('event: hello\ndata: {"stream": "str_1", "expires_at": ""}\n\n');
    this.lookSoon();
    this.#beat();
  }

  #beat(): void {
    if (this.isOver) return;
    this.#write(':\n\n');
    this.weather.clock.setTimeout(() => this.#beat(), 20_000);
  }

  tell(frame: object, cursor: string): void {
    this.#write(`id: ${cursor}\ndata: ${JSON.stringify(frame)}\n\n`);
  }

  broken(): void {
    this.#writer?.error(new TypeError('broken'));
  }

  #write(text: string): void {
    this.#writer?.enqueue(new TextEncoder().encode(text));
  }
}

function seqOf(messageId: string): number {
  return Number(messageId.split('_').at(-1));
}
