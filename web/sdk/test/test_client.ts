/** A client connected to a fake server, which records all events that it emits. */

import { Greenroom } from '../src/client.js';
import type { Connected } from '../src/connection.js';
import type { Options } from '../src/options.js';
import type { Send } from '../src/queue.js';
import type { FeedEvent } from '../src/types.js';
import { countingIds, FakeClock, jwt, seeded } from './fakes.js';
import { FakeServer } from './server.js';

export class TestClient {
  readonly clock: FakeClock;
  readonly server: FakeServer;
  readonly client: Greenroom;
  readonly events: FeedEvent[] = [];
  readonly connections: Connected[] = [];
  readonly sends: Send[] = [];
  tokensGiven = 0;
  tokenLifeS = 3600;

  constructor(options: Partial<Options> = {}, server = new FakeServer(new FakeClock())) {
    this.server = server;
    this.clock = server.clock;
    this.client = new Greenroom({
      url: 'http://greenroom.test',
      token: () => this.token(),
      clock: this.clock,
      random: seeded(7),
      randomId: countingIds(),
      fetch: server.fetch,
      WebSocket: server.WebSocket,
      ...options,
    });
    this.client.on('event', (event) => this.events.push(event));
    this.client.on('connection', (connected) => this.connections.push(connected));
    this.client.on('send', (send) => this.sends.push(send));
  }

  token(): string {
    this.tokensGiven += 1;
    const exp = Math.floor(this.clock.now() / 1000) + this.tokenLifeS;
    return jwt({ sub: 'ben', exp, number: this.tokensGiven });
  }

  async connect(): Promise<void> {
    void this.client.connect();
    await this.clock.advance(0);
  }

  /** What was told as new, by body, in order. */
  get heard(): string[] {
    return this.events.flatMap((each) =>
      each.type === 'message.new' ? (each.message?.body ?? []) : [],
    );
  }

  get ways(): string[] {
    return this.connections.map(({ state, transport }) => transport ?? state);
  }

  get shown(): string[] {
    return (this.client.state.threads.get('thr_1')?.messages ?? []).map((each) => each.body);
  }
}

/** Refuses what matches, as a network in between would. */
export function blocking(...paths: string[]): FakeServer['meets'] {
  return ({ path, query }) => {
    const name = query.has('wait') ? `${path}?wait` : path;
    return paths.includes(name) ? Promise.reject(new TypeError('blocked')) : null;
  };
}
