import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Message } from '@greenroom/sdk';

import { Conversation, type Source } from '../src/thread/conversation.ts';

const idOf = (seq: number): string => `msg_${String(seq).padStart(6, '0')}`;
const message = (seq: number): Message =>
  ({ id: idOf(seq), seq, author_id: 'theo', edited_at: null, deleted_at: null }) as Message;
const range = (from: number, to: number): Message[] =>
  Array.from({ length: to - from + 1 }, (_, index) => message(from + index));

/** A server with one thread of some messages, and the client before it. */
class FakeServer {
  asked: string[] = [];
  fails: { status: number } | null = null;
  /** Answers are of when they were asked for, and come when this does. */
  gate: Promise<void> | null = null;
  size: number;
  threads = new Map<string, object>();
  reload: () => Promise<void> | void = () => {};
  readonly #handlers = new Map<string, (value: unknown) => void>();

  constructor(size: number) {
    this.size = size;
  }

  emit(name: string, value: unknown): void {
    this.#handlers.get(name)?.(value);
  }

  source(unread_count = 2): Source {
    const inbox = { unread_count, last_read: { message_id: idOf(3), at: '' } };
    const answer = <T>(name: string, value: T): Promise<T> => {
      this.asked.push(name);
      if (this.fails) return Promise.reject(this.fails);
      return this.gate ? this.gate.then(() => value) : Promise.resolve(value);
    };
    const client = {
      state: { threads: this.threads },
      sends: () => [],
      connection: { transport: 'sse' },
      on: (name: string, handler: (value: unknown) => void) => {
        this.#handlers.set(name, handler);
        return () => this.#handlers.delete(name);
      },
      rest: {
        thread: () => answer('thread', { thread: {}, inbox }),
        messages: (_id: string, { before = idOf(this.size + 1) } = {}) => {
          const older = range(1, this.size).filter(({ id }) => id < before);
          const page = { items: older.slice(-50), has_more: older.length > 50 };
          return answer(`before ${before}`, page);
        },
      },
    };
    const onReload = (reload: () => Promise<void> | void) => {
      this.reload = reload;
      return () => {};
    };
    return { client, onReload } as unknown as Source;
  }
}

async function opened(server: FakeServer, arrived: (message: Message) => void = () => {}) {
  const conversation = new Conversation(server.source(), 'thr_1', { changed: () => {}, arrived });
  conversation.open();
  await settled();
  return conversation;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a thread opens with both requests at once', async () => {
  const server = new FakeServer(120);
  const conversation = new Conversation(server.source(), 'thr_1', {
    changed: () => {},
    arrived: () => {},
  });
  conversation.open();
  assert.deepEqual(server.asked, ['thread', `before ${idOf(121)}`]);
  await settled();
  assert.equal(conversation.status, 'ready');
  assert.equal(conversation.loaded.messages.length, 50);
  assert.equal(conversation.unreadAfter, idOf(3));
});

test('what is stored is shown before the server answers', () => {
  const server = new FakeServer(20);
  const inbox = { unread_count: 0, last_read: null };
  const stored = { thread: { id: 'thr_1' }, inbox, messages: range(1, 20), marks: {} };
  server.threads.set('thr_1', stored);
  const links = { changed: () => {}, arrived: () => {} };
  const conversation = new Conversation(server.source(), 'thr_1', links);
  conversation.open();
  assert.equal(conversation.status, 'ready');
  assert.equal(conversation.loaded.messages.length, 20);
  assert.equal(conversation.isFresh, false);
});

test('a thread that is not there is missing; one that does not load is tried again', async () => {
  const server = new FakeServer(5);
  server.fails = { status: 404 };
  assert.equal((await opened(server)).status, 'missing');
  server.fails = { status: 0 };
  const conversation = await opened(server);
  assert.equal(conversation.status, 'failed');
  server.fails = null;
  server.emit('connection', { state: 'live' });
  await settled();
  assert.equal(conversation.status, 'ready');
});

test('older pages come until the first message', async () => {
  const server = new FakeServer(120);
  const conversation = await opened(server);
  await Promise.all([conversation.loadOlder(), conversation.loadOlder()]);
  assert.equal(conversation.loaded.messages.length, 100);
  await conversation.loadOlder();
  await conversation.loadOlder();
  assert.equal(conversation.loaded.messages.length, 120);
  assert.equal(server.asked.filter((each) => each.startsWith('before')).length, 3);
});

test('an older page that fails is said, and comes when asked again', async () => {
  const server = new FakeServer(120);
  const conversation = await opened(server);
  server.fails = { status: 0 };
  await conversation.loadOlder();
  assert.equal(conversation.olderFailed, true);
  server.fails = null;
  await conversation.loadOlder();
  assert.equal(conversation.olderFailed, false);
  assert.equal(conversation.loaded.messages.length, 100);
});

test('a message is looked for in older pages, and not beyond where it would be', async () => {
  const server = new FakeServer(300);
  const conversation = await opened(server);
  assert.equal(await conversation.find(idOf(130)), true);
  const asked = server.asked.length;
  assert.equal(await conversation.find('msg_000130x'), false);
  assert.equal(server.asked.length, asked);
});

test('a new message is added and told of, an edit only changes what is here', async () => {
  const arrived: string[] = [];
  const server = new FakeServer(120);
  const conversation = await opened(server, ({ id }) => arrived.push(id));
  server.emit('event', { type: 'message.new', thread_id: 'thr_1', message: message(121) });
  server.emit('event', { type: 'message.new', thread_id: 'thr_2', message: message(9) });
  const edited = { ...message(2), edited_at: '2026-11-16T10:00:00.000Z' };
  server.emit('event', { type: 'message.edited', thread_id: 'thr_1', message: edited });
  assert.deepEqual(arrived, [idOf(121)]);
  assert.equal(conversation.loaded.messages.at(-1)?.seq, 121);
  assert.equal(conversation.loaded.messages[0]?.seq, 71);
});

test('after a gap everything is loaded anew, and a failure is left to the client', async () => {
  const server = new FakeServer(120);
  const conversation = await opened(server);
  await conversation.loadOlder();
  server.size = 260;
  await server.reload();
  assert.deepEqual(conversation.loaded.messages.map(({ seq }) => seq)[0], 211);
  server.fails = { status: 0 };
  await assert.rejects(async () => server.reload());
  assert.equal(conversation.status, 'ready');
});

test('a thread that the person was removed from is missing', async () => {
  const server = new FakeServer(5);
  const conversation = await opened(server);
  server.emit('event', { type: 'thread.changed', thread_id: 'thr_1' });
  assert.equal(conversation.status, 'missing');
});

test('an answer of before a gap does not replace what was loaded after it', async () => {
  const server = new FakeServer(60);
  let letGo = (): void => {};
  server.gate = new Promise((resolve) => (letGo = resolve));
  const conversation = await opened(server);
  server.gate = Promise.resolve();
  server.size = 260;
  await server.reload();
  letGo();
  await settled();
  const seqs = conversation.loaded.messages.map(({ seq }) => seq);
  assert.deepEqual([seqs[0], seqs.length], [211, 50]);
});

test('whoever comes back to a thread sees it again', async () => {
  const server = new FakeServer(5);
  const conversation = await opened(server);
  server.emit('event', { type: 'thread.changed', thread_id: 'thr_1' });
  server.emit('event', { type: 'thread.changed', thread_id: 'thr_1', thread: {} });
  await settled();
  assert.equal(conversation.status, 'ready');
  assert.equal(conversation.loaded.messages.length, 5);
});

test('that nothing is new is not taken from what was stored', async () => {
  const server = new FakeServer(20);
  const inbox = { unread_count: 0, last_read: null };
  const stored = { thread: { id: 'thr_1' }, inbox, messages: range(1, 3), marks: {} };
  server.threads.set('thr_1', stored);
  assert.equal((await opened(server)).unreadAfter, idOf(3));
});

test('what was stored as new and was read since is not new', async () => {
  const server = new FakeServer(3);
  const inbox = { unread_count: 1, last_read: { message_id: idOf(2), at: '' } };
  const stored = { thread: { id: 'thr_1' }, inbox, messages: range(1, 3), marks: {} };
  server.threads.set('thr_1', stored);
  const links = { changed: () => {}, arrived: () => {} };
  const conversation = new Conversation(server.source(0), 'thr_1', links);
  conversation.open();
  assert.equal(conversation.unreadAfter, idOf(2));
  await settled();
  assert.equal(conversation.unreadAfter, null);
});
