/** What a person sees of the list and of a thread is, once it settles, what the server holds. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import './real_sdk.ts';

import type { Message } from '@greenroom/sdk';

import type { Page } from '../../sdk/test/page.ts';
import { countsOf } from '../src/inbox/counts.ts';
import type { View } from '../src/inbox/folders.ts';
import { InboxSource, type ListSession } from '../src/inbox/source.ts';
import { Conversation, type Source } from '../src/thread/conversation.ts';

const { runStories, Story } = await import('../../sdk/test/story.ts');
const { OWN } = await import('../../sdk/test/world.ts');

const VIEWS: readonly View[] = [
  { folder: 'all' },
  { folder: 'archived' },
  { folder: 'bookings' },
  { folder: 'offers' },
];
const RETRIED_MS = 60_000;

/** One page with a list and an open thread. */
class Screen {
  readonly session: ListSession & Source;
  readonly source: InboxSource;
  conversation: Conversation;
  #close: () => void;

  constructor(page: Page, clock: ListSession['clock'], view: View, threadId: string) {
    const { client, onReload } = page;
    this.session = { client, onReload, clock, userId: OWN };
    this.source = new InboxSource(this.session, view, () => {});
    this.source.start();
    countsOf(this.session).onChange(() => {});
    this.conversation = this.#open(threadId);
    this.#close = this.conversation.open();
  }

  show(threadId: string): void {
    this.#close();
    this.conversation = this.#open(threadId);
    this.#close = this.conversation.open();
  }

  #open(threadId: string): Conversation {
    const links = { changed: () => {}, arrived: () => {} };
    return new Conversation(this.session, threadId, links);
  }
}

class SeenStory extends Story {
  #screen: Screen | undefined;
  #last: Page | undefined;

  /** The one of the page that is open now. */
  /** Opens a screen on the page where there is none yet. */
  look(): Screen {
    if (!this.#screen || this.#last !== this.page) {
      const home = this.home?.id ?? 'thr_1';
      this.#screen = new Screen(this.page, this.clock, this.pick(VIEWS), home);
      this.#last = this.page;
    }
    return this.#screen;
  }

  override use(): void {
    const { source, conversation } = this.look();
    const { home } = this;
    const row = this.pick(source.list.rows);
    const edit = { [this.pick(['archived', 'pinned', 'starred'])]: this.random() < 0.5 };
    const done = this.pick<() => unknown>([
      () => super.use(),
      () => super.use(),
      () => source.show(this.pick(VIEWS)),
      () => source.loadNext(),
      () => row && source.edit(row, edit),
      () => row && source.edit(row, edit),
      () => home && this.look().show(home.id),
      () => conversation.loadOlder(),
      () => conversation.patchRow(edit),
    ])();
    if (done instanceof Promise) done.catch(() => {});
  }

  override async settle(): Promise<void> {
    this.look();
    await super.settle();
    // Where it says that it failed, the person tries again.
    if (this.look().conversation.status === 'failed') void this.look().conversation.load();
    if (this.look().source.problem) void this.look().source.retry();
    await this.clock.advance(RETRIED_MS);
  }

  override check(): void {
    const { conversation, source, session } = this.look();
    const { list } = source;
    const most = list.rows.length;
    const { items, counts } = this.world.inbox(list.view.folder, null, 1_000);
    const shape = (rows: readonly { thread: object; inbox: object }[]): unknown =>
      rows.map(({ thread, inbox }) => [(thread as { subject: string }).subject, inbox]);
    assert.deepEqual(shape(list.rows), shape(items.slice(0, most)), `folder ${list.view.folder}`);
    assert.equal(list.isLoaded, true, 'the list is loaded');
    if (list.nextCursor === null) assert.equal(most, items.length, 'all of the folder');
    assert.deepEqual(countsOf(session).now, counts, 'the counts');
    this.#checkThread(conversation);
  }

  #checkThread(conversation: Conversation): void {
    const home = this.world.homes.get(conversation.threadId);
    if (!home?.isIn) return assert.equal(conversation.status, 'missing');
    assert.equal(conversation.status, 'ready');
    const { messages, hasOlder } = conversation.loaded;
    const all = this.world.visible(home);
    const first = messages[0]?.seq ?? 0;
    const wanted = all.filter(({ seq }) => seq >= first);
    assert.deepEqual(messages.map(formOf), wanted.map(formOf), 'what the thread shows');
    assert.equal(hasOlder, wanted.length < all.length, 'whether there are older ones');
    assert.deepEqual(conversation.row, this.world.row(home), 'the own row');
    assert.notEqual(conversation.unreadAfter, undefined, 'the unread line');
  }
}

function formOf({ id, body, deleted_at, card }: Message): string {
  return [id, body, deleted_at, card?.version].join(' ');
}

test('whatever comes late or gets lost, the screen shows in the end what the server holds', () =>
  runStories(30, (seed) => {
    const story = new SeenStory(seed);
    story.world.rowsPage = story.pick([3, 50]);
    return story;
  }));
