/**
 * Two people talk through a real server; which transports they have is given.
 *
 *   node live.js talk URL ADA_TOKEN BEN_TOKEN [blocked transports]
 *   node live.js flood URL ADA_TOKEN BEN_TOKEN COUNT
 *
 * Prints what each of them saw as JSON, for the caller to compare.
 */

import { Greenroom, memoryStorage, progressOf, type Storage } from '../src/index.js';
import type { Clock, Socket } from '../src/environment.js';
import { readClaims } from '../src/tokens.js';

const FASTER = 10;

/** So that three seconds between polls need not take three seconds. */
function fastClock(): Clock {
  const beganMs = Date.now();
  return {
    now: () => beganMs + (Date.now() - beganMs) * FASTER,
    setTimeout: (run, delayMs) => setTimeout(run, delayMs / FASTER),
    clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  };
}

/** A network that lets some things through and not others, and that can be unplugged. */
class Network {
  isUp = true;
  readonly #blocked: readonly string[];
  readonly #sockets = new Set<WebSocket>();
  readonly #cuts = new Set<AbortController>();

  constructor(blocked: readonly string[]) {
    this.#blocked = blocked;
  }

  unplug(): void {
    this.isUp = false;
    for (const socket of this.#sockets) socket.close();
    for (const cut of this.#cuts) cut.abort();
  }

  plugIn(): void {
    this.isUp = true;
  }

  readonly fetch: typeof fetch = async (input, init = {}) => {
    const url = new URL(String(input));
    const isStream = url.pathname === '/v1/stream';
    const isWaiting = url.searchParams.has('wait');
    const isBlocked =
      (isStream && this.#blocked.includes('sse')) ||
      (isWaiting && this.#blocked.includes('long-poll'));
    if (!this.isUp || isBlocked) throw new TypeError('blocked');
    const cut = new AbortController();
    this.#cuts.add(cut);
    init.signal?.addEventListener('abort', () => cut.abort());
    return fetch(input, { ...init, signal: cut.signal });
  };

  get WebSocket(): new (url: string) => Socket {
    const isBlocked = (): boolean => !this.isUp || this.#blocked.includes('websocket');
    const sockets = this.#sockets;
    return class extends WebSocket {
      constructor(url: string) {
        // An address that nobody listens on: it fails as a socket does that is not let through.
        super(isBlocked() ? 'ws://127.0.0.1:9' : url);
        sockets.add(this);
      }
    } as unknown as new (url: string) => Socket;
  }
}

class Person {
  readonly id: string;
  readonly network: Network;
  readonly client: Greenroom;
  readonly heard: string[] = [];
  readonly transports = new Set<string>();

  constructor(url: string, token: string, blocked: readonly string[], storage: Storage) {
    this.id = readClaims(token).sub ?? '';
    this.network = new Network(blocked);
    this.client = new Greenroom({
      url,
      token: () => token,
      storage,
      fetch: this.network.fetch,
      WebSocket: this.network.WebSocket,
      ...(blocked.includes('long-poll') ? { clock: fastClock() } : {}),
    });
    this.client.on('event', ({ type, message }) => {
      if (type === 'message.new' && message) this.heard.push(message.body);
    });
    this.client.on('connection', ({ transport }) => transport && this.transports.add(transport));
  }

  /** Resolves when it holds, looking again whenever something has happened. */
  until(what: string, holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const names = ['connection', 'event', 'change', 'send', 'presence'] as const;
      const stops = names.map((name) => this.client.on(name, () => look()));
      const stop = (): void => stops.forEach((each) => each());
      const late = setTimeout(() => {
        stop();
        reject(new Error(`${this.id} waited in vain: ${what}; heard ${this.heard.join(', ')}`));
      }, 40_000);
      const look = (): void => {
        if (!holds()) return;
        clearTimeout(late);
        stop();
        resolve();
      };
      look();
    });
  }

  hears(count: number): Promise<void> {
    return this.until(`${count} messages`, () => this.heard.length >= count);
  }

  shown(threadId: string): string[] {
    return (this.client.state.threads.get(threadId)?.messages ?? []).map((each) => each.body);
  }
}

async function start(ada: Person, ben: Person): Promise<string> {
  await Promise.all([ada.client.connect(), ben.client.connect()]);
  const { thread } = await ada.client.rest.startThread({
    kind: 'inquiry',
    to: ben.id,
    first_message: { client_id: crypto.randomUUID(), body: 'first' },
  });
  await Promise.all([ada.hears(1), ben.hears(1)]);
  return thread.id;
}

async function talk(url: string, adaToken: string, benToken: string, list = ''): Promise<object> {
  const blocked = list.split(',').filter(Boolean);
  const drawer = memoryStorage();
  const ada = new Person(url, adaToken, blocked, drawer);
  const ben = new Person(url, benToken, blocked, memoryStorage());
  const threadId = await start(ada, ben);
  await best(ada, blocked);
  await best(ben, blocked);

  for (let turn = 1; turn <= 4; turn += 1) {
    ada.client.send(threadId, `ada ${turn}`);
    await ben.hears(2 * turn);
    ben.client.send(threadId, `ben ${turn}`);
    await ada.hears(2 * turn + 1);
  }

  await seeEachOther(ada, ben, threadId, blocked);
  await editAndRead(ada, ben, threadId);

  ada.network.unplug();
  await ada.until('offline', () => ada.client.connection.state === 'offline');
  ada.client.send(threadId, 'ada offline 1');
  ada.client.send(threadId, 'ada offline 2');
  await ben.client.send(threadId, 'ben meanwhile').sent;
  await ada.client.close();

  const again = new Person(url, adaToken, blocked, drawer);
  const before = ada.heard.length;
  await again.client.connect();
  await Promise.all([ben.hears(before + 3), again.hears(3)]);
  await again.until('all sent', () => again.client.sends().length === 0);

  const page = await ben.client.rest.messages(threadId);
  const result = {
    threadId,
    transports: [...ben.transports],
    last: ben.client.connection.transport,
    ada: [...ada.heard, ...again.heard],
    ben: ben.heard,
    shown: [again.shown(threadId), ben.shown(threadId)],
    kept: page.items.map((each) => each.body),
  };
  await Promise.all([again.client.close(), ben.client.close()]);
  return result;
}

/** Until the transport is in use that remains. */
async function best(person: Person, blocked: readonly string[]): Promise<void> {
  const ladder = ['websocket', 'sse', 'long-poll', 'poll'];
  const wanted = ladder.find((each) => !blocked.includes(each));
  await person.until(String(wanted), () => person.client.connection.transport === wanted);
}

/** Typing and presence come by streams only. */
async function seeEachOther(
  ada: Person,
  ben: Person,
  threadId: string,
  blocked: readonly string[],
): Promise<void> {
  if (blocked.includes('sse')) return;
  ada.client.watch([threadId]);
  await ada.until('online', () => ada.client.whoIsOnline(threadId).includes(ben.id));
  ben.client.typing(threadId, true);
  await ada.until('typing', () => ada.client.whoTypes(threadId).includes(ben.id));
  ben.client.typing(threadId, false);
  await ada.until('no typing', () => ada.client.whoTypes(threadId).length === 0);
}

async function editAndRead(ada: Person, ben: Person, threadId: string): Promise<void> {
  const known = () => ada.client.state.threads.get(threadId);
  const own = ben.client.state.threads.get(threadId)?.messages ?? [];
  const [edited, deleted] = own.filter((each) => each.author_id === ben.id);
  const last = own.filter((each) => each.author_id === ada.id).at(-1);
  if (!edited || !deleted || !last) throw new Error('too few messages');
  await ben.client.rest.edit(threadId, edited.id, 'ben edited');
  await ben.client.rest.delete(threadId, deleted.id);
  await ben.client.rest.read(threadId, last.id);
  await ada.until('an edit and a deletion', () => {
    const bodies = ada.shown(threadId);
    return bodies.includes('ben edited') && bodies.includes('');
  });
  await ada.until('a receipt', () => {
    const thread = known();
    return thread !== undefined && progressOf(thread, last) === 'read';
  });
}

/** Ada writes on whatever happens to the server; it is told when a quarter is through. */
async function flood(
  url: string,
  adaToken: string,
  benToken: string,
  text: string,
): Promise<object> {
  const count = Number(text);
  const ada = new Person(url, adaToken, [], memoryStorage());
  const ben = new Person(url, benToken, [], memoryStorage());
  const threadId = await start(ada, ben);
  for (let number = 1; number <= count; number += 1) ada.client.send(threadId, `n${number}`);
  await ben.hears(count / 4);
  console.log('flowing');
  await Promise.all([ben.hears(count + 1), ada.hears(count + 1)]);
  await ada.until('all sent', () => ada.client.sends().length === 0);
  await Promise.all([ada.client.close(), ben.client.close()]);
  return { threadId, ada: ada.heard, ben: ben.heard };
}

const [what, ...given] = process.argv.slice(2);
const run: (...words: string[]) => Promise<object> = what === 'flood' ? flood : talk;
console.log(JSON.stringify(await run(...given)));
