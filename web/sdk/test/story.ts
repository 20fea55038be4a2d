/** One browser at one world, and what chance does to both, by a seed. */

import assert from 'node:assert/strict';

import type { TransportName } from '../src/transports/transport.js';
import type { Card } from '../src/types.js';
import { FakeClock, seeded } from './fakes.js';
import { checkState, checkStored, checkTold, Cupboard, Page } from './page.js';
import { Weather } from './weather.js';
import { type Home, OTHER, World } from './world.js';

const STEPS = 60;
const SETTLED_MS = 240_000;
const TRANSPORTS: readonly (readonly TransportName[])[] = [
  ['websocket', 'sse', 'long-poll', 'poll'],
  ['websocket'],
  ['sse'],
  ['long-poll'],
  ['poll'],
];

export class Story {
  readonly clock = new FakeClock();
  readonly random: () => number;
  readonly world = new World();
  readonly weather: Weather;
  readonly cupboard: Cupboard;
  readonly transports: readonly TransportName[];
  page: Page;
  /** Sends that dead pages have left to the one that is open. */
  #owed = new Set<string>();
  #pages = 0;
  #opened = 4;

  constructor(seed: number) {
    this.random = seeded(seed);
    for (let number = 1; number <= this.#opened; number += 1) {
      const home = this.world.open(`thr_${number}`, number % 2 ? 'inquiry' : 'project');
      const messages = this.pick([2, 3, 8, 70]);
      for (let count = 0; count < messages; count += 1) this.world.write(home);
    }
    this.world.page = this.pick([3, 100]);
    this.transports = this.pick(TRANSPORTS);
    this.weather = new Weather(this.world, this.clock, this.random);
    this.weather.lateness = 0.3;
    this.cupboard = new Cupboard(this.weather);
    this.page = this.open();
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)] as T;
  }

  open(): Page {
    const { transports } = this;
    return new Page(this.weather, this.cupboard, `p${(this.#pages += 1)}`, { transports });
  }

  get home(): Home | undefined {
    return this.pick([...this.world.homes.values()].filter(({ isIn }) => isIn));
  }

  reopen(): void {
    this.page.die();
    this.#owed = new Set(this.cupboard.sends.map(({ clientId }) => clientId));
    this.page = this.open();
  }

  /** Somebody else, or the person at another device. */
  happen(): void {
    const { home, world } = this;
    if (!home) return;
    const seq = home.floor + 1 + Math.floor(this.random() * world.visible(home).length);
    const isText = home.messages[seq - 1]?.deleted_at === null && !home.messages[seq - 1]?.card;
    const card = cardOf(home);
    this.pick([
      () => world.write(home),
      () => world.write(home),
      () => world.showCard(home),
      () => isText && world.change(home, seq, `changed ${world.moment()}`),
      () => isText && world.erase(home, seq),
      () => card && world.act(card.id),
      () => world.arrive(home, seq, this.pick(['read', 'delivered'])),
      () => world.read(home, seq),
      () =>
        world.arrange(home, {
          [this.pick(['pinned', 'starred', 'archived'])]: this.random() < 0.5,
        }),
      () => world.rename(home, `renamed ${world.moment()}`),
    ])();
  }

  comeAndGo(): void {
    const left = [...this.world.homes.values()].filter(({ isIn }) => !isIn);
    const away = this.pick(left);
    const { home } = this;
    if (this.random() < 0.3) this.world.write(this.world.open(`thr_${(this.#opened += 1)}`));
    else if (away && this.random() < 0.5) this.world.comeBack(away);
    else if (home) this.world.leave(home);
  }

  /** The person does something here. */
  use(): void {
    const { home, page } = this;
    if (!home) return;
    const { rest } = page.client;
    const own = home.messages.find((each) => each.author_id !== OTHER && !each.deleted_at);
    const card = cardOf(home);
    const last = home.messages.at(-1)?.id ?? '';
    const done = this.pick<() => unknown>([
      () => page.send(home.id, `said ${this.world.moment()}`),
      () => page.send(home.id, `said ${this.world.moment()}`),
      () => page.ask(home.id),
      () => page.ask(home.id),
      () => page.client.inbox(),
      () => rest.inbox({ folder: this.pick(['archived', 'bookings', 'all']) }),
      () => rest.read(home.id, last),
      () => rest.patchMe(home.id, { starred: this.random() < 0.5 }),
      () => own && rest.edit(home.id, own.id, `rewritten ${this.world.moment()}`),
      () => own && rest.delete(home.id, own.id),
      () => card && rest.actOnCard(card, 'accept', {}, this.world.moment()),
    ])();
    if (done instanceof Promise) done.catch(() => {});
  }

  disturb(): void {
    const { weather, world } = this;
    this.pick<() => unknown>([
      () => weather.breakAll(),
      () => weather.breakAll(),
      () => {
        weather.isAway = true;
        weather.breakAll();
      },
      () => weather.clearUp(),
      () => weather.clearUp(),
      () => (weather.loss = 0.2),
      () => (weather.lateness = this.pick([0, 0.3, 0.8])),
      () => (weather.blocked = [this.pick(['/v1/ws', '/v1/stream', 'wait=', '/messages'])]),
      () => this.page.client.networkLost(),
      () => this.page.client.retryNow(),
      () => (this.cupboard.fullness = this.pick([0, 0, 0.3])),
      () => {
        world.knowsOldCursors = this.random() < 0.5;
        world.restore(() => {
          this.happen();
          this.comeAndGo();
        });
        weather.breakAll();
      },
    ])();
  }

  async step(): Promise<void> {
    const roll = this.random();
    if (roll < 0.4) this.happen();
    else if (roll < 0.45) this.comeAndGo();
    else if (roll < 0.8) this.use();
    else if (roll < 0.95) this.disturb();
    else this.reopen();
    await this.clock.advance(this.random() < 0.5 ? this.random() * 100 : this.random() * 6_000);
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) await this.step();
    await this.settle();
    this.check();
    await this.page.client.close();
  }

  async settle(): Promise<void> {
    this.weather.clearUp();
    this.cupboard.fullness = 0;
    this.page.client.retryNow();
    // What could not be stored is stored with the next change.
    for (const home of this.world.homes.values()) if (home.isIn) this.world.write(home);
    await this.clock.advance(SETTLED_MS);
  }

  check(): void {
    const { page, world } = this;
    assert.match(page.client.connection.state, /live|polling/);
    checkState(page, world);
    checkTold(page.told, world);
    checkStored(this.cupboard, world);
    this.#checkSends();
  }

  #checkSends(): void {
    const open = this.page.client.sends();
    for (const { state, threadId } of open) {
      assert.equal(state, 'failed');
      assert.ok(this.world.homes.get(threadId)?.wasLeft, 'only what was refused has failed');
    }
    const made = [...this.world.homes.values()].flatMap(({ messages }) =>
      messages.flatMap((each) => each.client_id ?? []),
    );
    assert.equal(new Set(made).size, made.length);
    const failed = new Set(open.map(({ clientId }) => clientId));
    for (const clientId of [...this.#owed, ...this.page.sent]) {
      assert.ok(made.includes(clientId) || failed.has(clientId), `${clientId} was sent`);
    }
  }
}

function cardOf({ messages }: Home): Card | undefined {
  return messages.find((each) => each.card)?.card ?? undefined;
}

/** The one that failed (`GREENROOM_SEED`), or as many as are wanted (`GREENROOM_RUNS`). */
export async function runStories(runs: number, tell: (seed: number) => Story): Promise<void> {
  const given = process.env['GREENROOM_SEED'];
  const count = Number(process.env['GREENROOM_RUNS'] ?? runs);
  const seeds = given ? [Number(given)] : Array.from({ length: count }, (_, index) => index);
  for (const seed of seeds) {
    try {
      await tell(seed).run();
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`GREENROOM_SEED=${seed}: ${message}`, { cause: error });
    }
  }
}
