/** Greenroom's client: put together here, used by pages. */

import { Acks } from './acks.js';
import { Backoff, RetryBudget } from './backoff.js';
import { Ladder } from './transport_ladder.js';
import { PresenceTracker } from './presence.js';
import { type Connected, Connection } from './connection.js';
import { Emitter } from './emitter.js';
import { type Environment, systemEnvironment } from './environment.js';
import { Feed } from './feed.js';
import { Http } from './http.js';
import type { Names, Options, Sending } from './options.js';
import { PollInterval, type Visibility } from './poll_interval.js';
import { Problem, type ProblemDocument } from './problem.js';
import { type Send, type SendFile, SendQueue } from './queue.js';
import { Rest } from './rest.js';
import { UserStore } from './user_store.js';
import type { State } from './state.js';
import { memoryStorage } from './storage.js';
import { readClaims, Tokens } from './tokens.js';
import { LongPollTransport } from './transports/longpoll.js';
import { PollTransport } from './transports/poll.js';
import { SseTransport } from './transports/sse.js';
import type { Line, TransportName } from './transports/transport.js';
import { WebSocketTransport } from './transports/websocket.js';
import { Typing } from './typing.js';
import { Watching } from './watching.js';
import type { FeedEvent, InboxPage, Limits, Message, NewMessage, StoredFile } from './types.js';

const LADDER: readonly TransportName[] = ['websocket', 'sse', 'long-poll', 'poll'];

interface Waiting {
  resolve(message: Message): void;
  reject(problem: Problem): void;
}

export class Greenroom {
  readonly rest: Rest;
  /** Where the server is, without a slash at the end. */
  readonly url: string;
  /** For parts of this package that a page loads later: one request with the person's token. */
  readonly request: Http['call'];
  readonly #options: Options;
  readonly #environment: Environment;
  readonly #emitter = new Emitter<Names>();
  readonly #tokens: Tokens;
  readonly #pollInterval: PollInterval;
  readonly #store: UserStore;
  readonly #feed: Feed;
  readonly #acks: Acks;
  readonly #queue: SendQueue;
  readonly #typing: Typing;
  readonly #presence = new PresenceTracker();
  readonly #connection: Connection;
  readonly #waiting = new Map<string, Waiting>();
  #restored: Promise<void> | null = null;
  readonly #watching: Watching;
  #inbox: Promise<InboxPage> | null = null;
  #hadReset = false;
  #limits: Limits | null = null;

  constructor(options: Options) {
    const environment = { ...systemEnvironment(), ...options };
    const { clock, random } = environment;
    const base = new URL(options.url, globalThis.location?.href).href.replace(/\/$/, '');
    const budget = new RetryBudget(clock);
    this.#options = options;
    this.#environment = environment;
    this.#tokens = new Tokens(options.token, clock);
    this.#pollInterval = new PollInterval(clock);
    this.#store = new UserStore(options.storage ?? memoryStorage(), clock, (error) =>
      this.#complain(error),
    );
    this.#feed = new Feed({
      keep: (kept) => this.#store.keep(kept),
      changed: (threadId) => this.#emitter.emit('change', threadId),
    });
    this.#acks = new Acks(clock);
    this.#typing = new Typing(clock, (threadId, on) => this.#sayTyping(threadId, on));
    this.#watching = new Watching({
      clock,
      most: () => this.#limits?.watched_threads,
      isKnown: (threadId) => Boolean(this.state.threads.get(threadId)?.thread),
      changed: () => this.#connection.rewatch(),
    });
    const http = new Http(base, this.#tokens, environment);
    this.url = base;
    this.request = (method, path, request) => http.call(method, path, request);
    this.rest = new Rest(http, (asking) => this.#feed.merger(asking));
    this.#queue = this.#newQueue(new Backoff(random, budget));
    this.#connection = this.#newConnection(base, http, new Backoff(random, budget));
  }

  /** Everything that is known of the person's threads. */
  get state(): State {
    return this.#feed.state;
  }

  /** What the server allows; null until the first connection is open and the server has said it. */
  get limits(): Limits | null {
    return this.#limits;
  }

  get connection(): Connected {
    return this.#connection.now;
  }

  on<Name extends keyof Names>(name: Name, handler: (value: Names[Name]) => void): () => void {
    return this.#emitter.on(name, handler);
  }

  /** Resolves when the feed comes for the first time. No need to wait for it before sending. */
  connect(): Promise<void> {
    const connected = new Promise<void>((resolve, reject) => {
      const look = ({ state, code }: Connected): void => {
        if (state === 'live' || state === 'polling') resolve();
        else if (state === 'closed') reject(new Error(`closed ${code ?? 'by the page'}`));
        else return;
        stop();
      };
      const stop = this.on('connection', look);
      this.#connection.start();
      if (this.connection.state !== 'closed') look(this.connection);
    });
    connected.catch(() => {});
    return connected;
  }

  /** The first page of the inbox, in one request for all who want it now: `connect` may too. */
  inbox(): Promise<InboxPage> {
    if (this.#inbox) return this.#inbox;
    const asked = this.rest.inbox();
    const isOver = (): void => {
      if (this.#inbox === asked) this.#inbox = null;
    };
    this.#inbox = asked;
    asked.then(isOver, isOver);
    return asked;
  }

  /** Sends that wait stay stored, and go on with the next `connect`. */
  async close(): Promise<void> {
    this.#watching.stop();
    this.#connection.stop();
    await this.#store.flush();
  }

  /** The person logs out: nothing of theirs stays here. Whoever comes next needs a new client. */
  async forget(): Promise<void> {
    this.#watching.stop();
    this.#connection.stop();
    for (const { clientId } of this.#queue.list()) this.discard(clientId);
    this.#feed.reset(null);
    await this.#store.clear();
  }

  /** Kept and repeated until the server has it or refuses it; `sent` need not be waited for. */
  send(
    threadId: string,
    body: string,
    options: { replyTo?: string; files?: readonly SendFile[] } = {},
  ): Sending {
    const clientId = this.#environment.randomId();
    this.#typing.off(threadId);
    this.touch();
    const queuedAtMs = this.#environment.clock.now();
    this.#queue.add({ clientId, threadId, body, ...options, queuedAtMs, state: 'queued' });
    const sent = new Promise<Message>((resolve, reject) => {
      this.#waiting.set(clientId, { resolve, reject });
    });
    sent.catch(() => {});
    this.#connection.reconsider(false);
    return { clientId, sent };
  }

  /** Sends that wait or failed, to be shown below the messages. */
  sends(threadId?: string): Send[] {
    return this.#queue.list(threadId);
  }

  /** An upload has ended: sends that waited for it alone go. */
  uploaded(uploadId: string, fileId: string): void {
    this.#queue.uploaded(uploadId, fileId);
  }

  /** An upload was refused, and with it the sends that waited for it. */
  uploadFailed(uploadId: string, problem: ProblemDocument): void {
    this.#queue.uploadFailed(uploadId, problem);
  }

  /** A file as it is now, by the answer to a request. */
  learn(file: StoredFile): void {
    this.#feed.learn(file);
    this.#emitter.emit('file', file);
  }

  retry(clientId: string): boolean {
    const isRetried = this.#queue.retry(clientId);
    this.#connection.reconsider(false);
    return isRetried;
  }

  /** Sends the rest of a message of which files were refused, and returns those. */
  sendWithoutRefused(clientId: string): readonly SendFile[] {
    const refused = this.#queue.sendWithoutRefused(clientId);
    this.#connection.reconsider(false);
    return refused;
  }

  /** False for one that is under way: it may have happened. */
  discard(clientId: string): boolean {
    const isGone = this.#queue.discard(clientId);
    if (isGone) this.#waiting.get(clientId)?.reject(Problem.discarded());
    if (isGone) this.#waiting.delete(clientId);
    this.#connection.reconsider(false);
    return isGone;
  }

  /** The threads of which to tell who types and who is there; replaces those of before. The first
   * ones count, where they are more than the server allows (`limits.watched_threads`). */
  watch(threadIds: readonly string[]): void {
    this.#presence.keepOnly(threadIds);
    this.#watching.wish(threadIds);
  }

  /** Call it with each key pressed; it is said now and then, and taken back by itself. */
  typing(threadId: string, on: boolean): void {
    this.touch();
    if (on) this.#typing.on(threadId);
    else this.#typing.off(threadId);
  }

  whoTypes(threadId: string): string[] {
    return this.#presence.typing(threadId);
  }

  whoIsOnline(threadId: string): string[] {
    return this.#presence.online(threadId);
  }

  /** `closed` ends the connection as soon as nothing waits to be sent. */
  setVisibility(visibility: Visibility): void {
    this.#pollInterval.setVisibility(visibility);
    this.#connection.reconsider(visibility === 'open');
  }

  /** The person did something. */
  touch(): void {
    this.#pollInterval.touch();
    this.#connection.reconsider(true);
  }

  /** The network is back: try at once. */
  retryNow(): void {
    this.#connection.hurry();
  }

  /** The device says that the network is gone: what is open is given up, and tried again. */
  networkLost(): void {
    this.#connection.unplug();
  }

  #newQueue(backoff: Backoff): SendQueue {
    return new SendQueue({
      clock: this.#environment.clock,
      backoff,
      save: () => this.#store.saveSends(() => this.#queue.list()),
      attempt: (send) => this.#attempt(send),
      doubt: (problem) => this.#connection.doubt(problem),
      changed: (send) => this.#sendChanged(send),
    });
  }

  #newConnection(base: string, http: Http, backoff: Backoff): Connection {
    const environment = this.#environment;
    const rungs = this.#options.transports ?? LADDER;
    const usable = rungs.filter((name) => name !== 'websocket' || environment.WebSocket);
    return new Connection({
      environment,
      http,
      backoff,
      tokens: this.#tokens,
      ladder: new Ladder(usable, environment.clock),
      transports: {
        websocket: new WebSocketTransport(base, http, environment),
        sse: new SseTransport(http, environment),
        'long-poll': new LongPollTransport(http, environment.clock),
        poll: new PollTransport(http, this.#pollInterval),
      },
      cursor: () => this.#feed.cursor,
      watched: () => this.#watching.asked,
      watchRefused: () => this.#watching.refused(),
      watch: (line) => this.#sayWatched(line),
      isWanted: () => this.#pollInterval.visibility !== 'closed' || this.#queue.isWaiting,
      load: () => this.#load(),
      apply: (event) => this.#apply(event),
      moveTo: (cursor) => this.#moveTo(cursor),
      ephemeral: (event) => {
        // What was on its way when the page stopped watching would never be taken back.
        if (!this.#watching.wished.includes(event.thread_id)) return;
        this.#presence.apply(event);
        this.#emitter.emit('presence', event.thread_id);
      },
      lost: () => this.#reset(null),
      opened: (line) => this.#opened(line),
      left: () => this.#left(),
      changed: (connected) => this.#emitter.emit('connection', connected),
    });
  }

  async #load(): Promise<void> {
    try {
      this.#restored ??= this.#restore();
      await this.#restored;
      if (this.#feed.isLoaded) return;
      const page = await this.inbox();
      this.#feed.begin(page);
      await Promise.all(this.#feed.earlyThreads.map((threadId) => this.#askAgain(threadId)));
      const isReloading = this.#hadReset || this.#feed.hasEarlyRows;
      if (isReloading) await this.#reload();
      this.#feed.loaded();
      if (!isReloading) this.#emitter.emit('begun', page);
    } catch (error) {
      this.#complain(error);
      throw error;
    }
  }

  async #restore(): Promise<void> {
    try {
      const user = this.#options.user ?? readClaims(await this.#tokens.get()).sub ?? '';
      const { kept, sends } = await this.#store.open(user);
      if (kept) this.#feed.restore(kept);
      this.#queue.restore(sends);
      this.#store.start();
    } catch (error) {
      this.#restored = null;
      throw error;
    }
  }

  /** What was read before the cursor, which the page of the inbox brought, may miss something. */
  async #askAgain(threadId: string): Promise<void> {
    try {
      await Promise.all([this.rest.thread(threadId), this.rest.messages(threadId)]);
    } catch (error) {
      if (Problem.of(error).isTransient) throw error;
    }
  }

  /** Tried again when the network fails; the page's own mistakes are its own. */
  async #reload(): Promise<void> {
    try {
      await this.#options.reload?.();
    } catch (error) {
      if (error instanceof Problem && error.isTransient) throw error;
      this.#complain(error);
    }
    this.#hadReset = false;
  }

  #apply(event: FeedEvent): void {
    if (event.type === 'reset') this.#reset(event.cursor);
    else this.#feed.apply(event);
    this.#acks.applied(event.cursor);
    const isGone = event.type === 'thread.changed' && !event.thread;
    if (isGone) this.watch(this.#watching.wished.filter((id) => id !== event.thread_id));
    const clientId = event.type === 'message.new' && event.message?.client_id;
    if (clientId) this.#queue.settle(clientId, event.message as Message);
    if (event.file) this.#emitter.emit('file', event.file);
    this.#emitter.emit('event', event);
  }

  #moveTo(cursor: string): void {
    this.#feed.moveTo(cursor);
    this.#acks.applied(cursor);
  }

  #reset(cursor: string | null): void {
    this.#hadReset = true;
    // An answer that is under way is from before: it is not merged.
    this.#inbox = null;
    this.#feed.reset(cursor);
  }

  #opened(line: Line): void {
    if (this.#watching.wished.length > 0) this.#sayWatched(line);
    this.#acks.use(line);
    this.#acks.applied(this.#feed.cursor);
    this.#queue.open();
    if (!this.#limits) void this.#askLimits();
  }

  /** Nothing depends on the answer: the server checks its limits itself. The next connection asks
   * again. */
  async #askLimits(): Promise<void> {
    try {
      this.#limits = await this.rest.limits();
    } catch {
      return;
    }
    this.#emitter.emit('limits', this.#limits);
    if (this.#watching.wished.length > this.#limits.watched_threads) this.#connection.rewatch();
  }

  /** One that got no answer ends with its connection. */
  #sayWatched(line: Line): void {
    line.watch?.(this.#watching.asked).then(
      () => this.#watching.accepted(),
      (error: unknown) => {
        if (Problem.of(error).status !== 0) this.#watching.refused();
      },
    );
  }

  #left(): void {
    this.#queue.shut();
    this.#acks.use({});
    this.#typing.forgetAll();
    for (const threadId of this.#presence.clear()) this.#emitter.emit('presence', threadId);
  }

  async #attempt({ clientId, threadId, body, replyTo, files }: Send): Promise<Message> {
    const merger = this.#feed.merger();
    const message: NewMessage = {
      client_id: clientId,
      body,
      ...(replyTo === undefined ? {} : { reply_to: replyTo }),
      ...(files ? { attachments: files.map(({ fileId = '' }) => ({ file_id: fileId })) } : {}),
    };
    try {
      const { line } = this.#connection;
      const sent = await (line.send?.(threadId, message) ?? this.rest.send(threadId, message));
      merger.message(sent);
      return sent;
    } finally {
      merger.end(true);
    }
  }

  #sendChanged(send: Send): void {
    const waiting = this.#waiting.get(send.clientId);
    if (send.state === 'sent' && send.message) waiting?.resolve(send.message);
    if (send.state === 'failed' && send.problem) waiting?.reject(new Problem(send.problem));
    if (send.state === 'sent' || send.state === 'failed') this.#waiting.delete(send.clientId);
    this.#emitter.emit('send', send);
    if (send.state === 'sent' || send.state === 'failed') this.#connection.reconsider(false);
  }

  /** Not worth a word when it fails: it is over in ten seconds. */
  #sayTyping(threadId: string, on: boolean): void {
    const { state } = this.#connection.now;
    if (state !== 'live' && state !== 'polling') return;
    const { line } = this.#connection;
    if (line.typing) line.typing(threadId, on);
    else this.rest.typing(threadId, on).catch(() => {});
  }

  #complain(error: unknown): void {
    this.#emitter.emit('problem', Problem.of(error));
  }
}
