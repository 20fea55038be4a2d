import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Problem } from '../src/problem.js';
import type { Put } from '../src/put.js';
import type { NewUpload, StoredFile, UploadTicket } from '../src/types.js';
import { memoryUploads, type UploadStorage } from '../src/upload_storage.js';
import { piecesOf, Uploads, UPLOADS_AT_ONCE } from '../src/uploads.js';
import { countingIds, FakeClock, settle } from './fakes.js';
import { file } from './things.js';

const PART = 4;

interface Putting {
  url: string;
  text: string;
  progress: (bytes: number) => void;
  resolve(): void;
  reject(problem: Problem): void;
}

/** A store and a server that take uploads, and a page that makes them. */
class Page {
  readonly clock = new FakeClock();
  readonly begun: NewUpload[] = [];
  readonly keys: string[] = [];
  readonly puttings: Putting[] = [];
  readonly completed: string[] = [];
  readonly cancelled: string[] = [];
  readonly states: string[] = [];
  readonly received = new Map<string, Set<number>>();
  problem: Problem | null = null;
  known = new Map<string, StoredFile>();
  readonly uploads: Uploads;

  constructor(readonly storage: UploadStorage = memoryUploads()) {
    this.uploads = new Uploads({
      files: {
        addressOf: (url) => url,
        beginUpload: async (body, key) => {
          this.#fail();
          const again = this.keys.indexOf(key);
          if (again >= 0) return this.ticket(`fil_${again + 1}`);
          this.begun.push(body);
          this.keys.push(key);
          this.received.set(`fil_${this.begun.length}`, new Set());
          return this.ticket(`fil_${this.begun.length}`);
        },
        upload: async (fileId) => {
          this.#fail();
          if (!this.received.has(fileId)) throw refusal(404, 'NOT_FOUND');
          return this.ticket(fileId);
        },
        completeUpload: async (fileId) => {
          this.#fail();
          this.completed.push(fileId);
          return file({ id: fileId, state: 'processing' });
        },
        cancelUpload: async (fileId) => void this.cancelled.push(fileId),
        get: async (fileId) => {
          const found = this.known.get(fileId);
          if (!found) throw refusal(404, 'NOT_FOUND');
          return found;
        },
      },
      clock: this.clock,
      random: () => 0.5,
      randomId: countingIds('u'),
      changed: ({ id, state }, isGone) => {
        const line = `${id} ${isGone ? 'gone' : state}`;
        if (this.states.at(-1) !== line) this.states.push(line);
      },
      storage,
      put: this.#put,
      sha256: async () => 'aa',
      partBytes: () => PART,
    });
  }

  #fail(): void {
    if (this.problem) throw this.problem;
  }

  readonly #put: Put = ({ url }, bytes, { signal, progress }) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(Problem.unreachable('aborted')));
      void bytes.text().then((text) => {
        this.puttings.push({ url, text, progress, resolve, reject });
      });
    });

  ticket(fileId: string): UploadTicket {
    const body = this.begun[Number(fileId.slice(4)) - 1]!;
    const there = this.received.get(fileId) ?? new Set<number>();
    const count = Math.ceil(body.bytes / PART);
    const parts = Array.from({ length: count }, (_, at) => ({
      number: at + 1,
      bytes: Math.min(PART, body.bytes - at * PART),
      method: 'PUT',
      url: `/blobs/${fileId}/${at + 1}`,
      headers: {},
      received: there.has(at + 1),
    }));
    return {
      id: fileId,
      method: 'PUT',
      url: `/blobs/${fileId}`,
      headers: {},
      expires_at: '',
      received: false,
      part_bytes: PART,
      parts: body.parts ? parts : null,
    };
  }

  add(text: string, name = 'a.txt') {
    return this.uploads.add('thr_1', new Blob([text]), { name, mime: 'text/plain' });
  }

  /** The piece that is under way arrives. */
  async arrives(at = -1): Promise<void> {
    await settle();
    const put = this.puttings.at(at)!;
    const [, , fileId = '', part] = put.url.split('/');
    if (part) this.received.get(fileId)?.add(Number(part));
    put.resolve();
    await settle();
  }

  state(id: string): string | undefined {
    return this.uploads.find(id)?.state;
  }
}

function refusal(status: number, code: string, retryAfterMs = 0): Problem {
  return new Problem({ status, code, title: code }, retryAfterMs);
}

test('a small file is one signed request, then complete', async () => {
  const page = new Page();
  const { id } = page.add('abc');
  await page.arrives();
  assert.deepEqual(page.begun, [
    {
      thread_id: 'thr_1',
      name: 'a.txt',
      mime: 'text/plain',
      bytes: 3,
      purpose: 'attachment',
      parts: false,
      sha256: 'aa',
    },
  ]);
  assert.deepEqual(page.completed, ['fil_1']);
  assert.equal(page.uploads.find(id)?.file?.state, 'processing');
  assert.deepEqual(page.states, ['u1 waiting', 'u1 uploading', 'u1 finishing', 'u1 done']);
});

test('what this device knows of a file goes with it', async () => {
  const page = new Page();
  const hints = { duration_ms: 900, peaks: [0, 100] };
  const voice = { name: 'a.webm', mime: 'audio/webm', purpose: 'voice', hints } as const;
  page.uploads.add('thr_1', new Blob(['sound']), voice);
  await settle();
  const { duration_ms, peaks } = page.begun[0]!;
  assert.deepEqual({ duration_ms, peaks }, hints);
});

test('a large file goes in parts, and says how far it has got', async () => {
  const page = new Page();
  const { id } = page.add('abcdefghij');
  await page.arrives();
  page.puttings.at(-1)!.progress(2);
  assert.equal(page.uploads.find(id)?.sentBytes, PART + 2);
  await page.arrives();
  await page.arrives();
  assert.deepEqual(
    page.puttings.map(({ text }) => text),
    ['abcd', 'efgh', 'ij'],
  );
  assert.equal(page.state(id), 'done');
});

test('after a cut it asks what has arrived and sends only the rest', async () => {
  const page = new Page();
  const { id } = page.add('abcdefghij');
  await page.arrives();
  page.puttings.at(-1)!.reject(Problem.unreachable('cut'));
  await settle();
  assert.equal(page.state(id), 'uploading');
  await page.clock.advance(60_000);
  await page.arrives();
  await page.arrives();
  assert.deepEqual(
    page.puttings.map(({ text }) => text),
    ['abcd', 'efgh', 'efgh', 'ij'],
  );
  assert.equal(page.state(id), 'done');
  assert.equal(page.begun.length, 1);
});

test('the network that is back is used at once', async () => {
  const page = new Page();
  page.problem = Problem.unreachable('offline');
  const { id } = page.add('abc');
  await settle();
  page.problem = null;
  page.uploads.retryNow();
  await page.arrives();
  assert.equal(page.state(id), 'done');
});

test('a paused upload stands still until it is resumed', async () => {
  const page = new Page();
  const { id } = page.add('abcdefgh');
  await page.arrives();
  page.uploads.pause(id);
  await page.clock.advance(600_000);
  assert.equal(page.state(id), 'paused');
  const before = page.puttings.length;
  page.uploads.resume(id);
  await settle();
  assert.equal(page.puttings.length, before + 1);
  await page.arrives();
  assert.equal(page.state(id), 'done');
});

test('what the server refuses fails with its reason, and can be tried again', async () => {
  const page = new Page();
  page.problem = refusal(413, 'ATTACHMENT_TOO_LARGE');
  const { id } = page.add('abc');
  await settle();
  assert.equal(page.uploads.find(id)?.problem?.code, 'ATTACHMENT_TOO_LARGE');
  page.problem = null;
  page.uploads.resume(id);
  await page.arrives();
  assert.equal(page.state(id), 'done');
  assert.equal(page.uploads.find(id)?.problem, undefined);
});

test('a long wait that the server asks for is told, not waited for', async () => {
  const page = new Page();
  page.problem = refusal(429, 'RATE_LIMITED', 3_600_000);
  const { id } = page.add('abc');
  await settle();
  assert.equal(page.state(id), 'failed');
});

test('a signature that has ended is asked for again, but not for ever', async () => {
  const page = new Page();
  const { id } = page.add('abc');
  for (let turn = 0; turn < 4; turn += 1) {
    await settle();
    page.puttings.at(-1)!.reject(refusal(403, 'HTTP_403'));
    await page.clock.advance(60_000);
  }
  assert.equal(page.state(id), 'failed');
  assert.equal(page.puttings.length, 4);
});

test('a completed upload whose answer was lost is not made twice', async () => {
  const page = new Page();
  const { id } = page.add('abc');
  await settle();
  page.puttings.at(-1)!.reject(Problem.unreachable('cut'));
  page.received.delete('fil_1');
  page.known.set('fil_1', file({ id: 'fil_1', state: 'ready' }));
  await page.clock.advance(60_000);
  assert.equal(page.state(id), 'done');
  assert.equal(page.uploads.find(id)?.file?.state, 'ready');
  assert.equal(page.begun.length, 1);
});

test('an upload that the server has forgotten begins anew', async () => {
  const page = new Page();
  const { id } = page.add('abc');
  await settle();
  page.puttings.at(-1)!.reject(Problem.unreachable('cut'));
  page.received.delete('fil_1');
  await page.clock.advance(60_000);
  await page.arrives();
  assert.equal(page.uploads.find(id)?.fileId, 'fil_2');
  assert.deepEqual(page.keys, ['u1.0', 'u1.1']);
});

test('two go at a time, in order', async () => {
  const page = new Page();
  for (const text of ['a', 'b', 'c']) page.add(text);
  await settle();
  assert.equal(page.puttings.length, UPLOADS_AT_ONCE);
  await page.arrives(0);
  assert.deepEqual(
    page.puttings.map(({ text }) => text),
    ['a', 'b', 'c'],
  );
});

test('a cancelled upload is gone here and there', async () => {
  const page = new Page();
  const { id } = page.add('abc');
  await settle();
  await page.uploads.cancel(id);
  assert.deepEqual(page.uploads.list(), []);
  assert.deepEqual(page.cancelled, ['fil_1']);
  assert.deepEqual(await page.storage.list(), []);
  assert.equal(page.states.at(-1), 'u1 gone');
});

test('the next page finds unfinished uploads and goes on with the same one', async () => {
  const before = new Page();
  before.add('abcdefgh', 'two.txt');
  await before.arrives();
  const after = new Page(before.storage);
  after.begun.push(...before.begun);
  after.keys.push(...before.keys);
  for (const [id, there] of before.received) after.received.set(id, there);
  await after.uploads.restore();
  const [left] = after.uploads.list('thr_1');
  assert.equal(left?.name, 'two.txt');
  assert.equal(left?.state, 'paused');
  after.uploads.resume(left.id);
  await after.arrives();
  assert.deepEqual(
    after.puttings.map(({ text }) => text),
    ['efgh'],
  );
  assert.equal(after.state(left.id), 'done');
});

test('pieces cover all bytes in order, whatever the order of the parts', () => {
  const page = new Page();
  page.begun.push({
    thread_id: 't',
    name: 'n',
    mime: 'm',
    bytes: 10,
    purpose: 'proof',
    parts: true,
  });
  const ticket = page.ticket('fil_1');
  const pieces = piecesOf({ ...ticket, parts: [...ticket.parts!].reverse() }, 10);
  assert.deepEqual(
    pieces.map(({ start, stop }) => [start, stop]),
    [
      [0, 4],
      [4, 8],
      [8, 10],
    ],
  );
});
