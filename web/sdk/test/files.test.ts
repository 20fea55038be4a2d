import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Files } from '../src/files.js';
import type { StoredFile } from '../src/types.js';
import { file } from './things.js';

function filesAt(url: string, answer: StoredFile = file()) {
  const asked: string[] = [];
  const learned: StoredFile[] = [];
  const request = async (method: string, path: string): Promise<unknown> => {
    asked.push(`${method} ${path}`);
    return { file: answer };
  };
  const files = new Files({
    url,
    request: request as never,
    learn: (learnt) => void learned.push(learnt),
  });
  return { files, asked, learned };
}

test('what the server keeps itself is fetched where this page reaches the server', () => {
  const { files } = filesAt('http://localhost:8000');
  const own = 'http://127.0.0.1:0/blobs/files/fil_1/thumb?expires=1&signature=x';
  const here = 'http://localhost:8000/blobs/files/fil_1/thumb?expires=1&signature=x';
  assert.equal(files.addressOf(own), here);
  assert.equal(files.addressOf('/blobs/files/fil_1/thumb?expires=1&signature=x'), here);
  const s3 = 'https://bucket.s3.test/threads/thr_1/thumb.webp?X-Amz-Expires=600';
  assert.equal(files.addressOf(s3), s3);
});

test('the same file is reached as the same object, so that nothing is drawn anew', () => {
  const { files } = filesAt('http://localhost:8000');
  const one = file();
  assert.equal(files.reached(one), files.reached(one));
  assert.equal(files.reached(one).renditions[0]?.url, 'http://localhost:8000/thumb');
});

test('what a call answers of a file is known to all that show it', async () => {
  const { files, asked, learned } = filesAt('http://localhost:8000');
  await files.get('fil_1');
  await files.reveal('fil_1');
  await files.describe('fil_1', 'A roof');
  assert.deepEqual(asked, [
    'GET /v1/files/fil_1',
    'POST /v1/files/fil_1/reveal',
    'PATCH /v1/files/fil_1',
  ]);
  assert.equal(learned.length, 3);
});
