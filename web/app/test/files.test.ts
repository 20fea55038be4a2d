import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Rendition, StoredFile } from '@greenroom/sdk';

import {
  downloadOf,
  endOf,
  isStale,
  largestOf,
  lookOf,
  sourcesOf,
} from '../src/files/addresses.ts';
import { dragged, MOST_SCALE, swipe, WHOLE, zoomed } from '../src/files/gestures.ts';
import { ratioOf, tilesOf } from '../src/files/layout.ts';
import {
  barsOf,
  lengthText,
  mediaOf,
  moved,
  percentOf,
  sizeText,
  sortOut,
  typeText,
  waveFormOf,
} from '../src/files/media.ts';

function rendition(kind: Rendition['kind'], mime: string, width: number): Rendition {
  return { kind, mime, width, height: width, url: `/${kind}.${mime.slice(6)}` };
}

function file(more: Partial<StoredFile> = {}): StoredFile {
  return {
    id: 'fil_1',
    thread_id: 'thr_1',
    owner_id: 'maya',
    state: 'ready',
    reason: null,
    media: 'image',
    name: 'roof.jpg',
    mime: 'image/jpeg',
    bytes: 1000,
    sha256: null,
    width: 400,
    height: 300,
    duration_ms: null,
    peaks: null,
    alt: null,
    band: 0,
    visibility: 'clear',
    can_reveal: false,
    renditions: [
      rendition('thumb', 'image/webp', 320),
      rendition('thumb', 'image/jpeg', 320),
      rendition('preview', 'image/webp', 1280),
      rendition('preview', 'image/jpeg', 1280),
    ],
    created_at: '2027-01-15T08:00:00.000Z',
    expires_at: null,
    ...more,
  };
}

test('a file is what its type says', () => {
  const types = ['image/png', 'video/mp4', 'audio/ogg', 'application/pdf', 'text/plain', ''];
  assert.deepEqual(types.map(mediaOf), ['image', 'video', 'audio', 'pdf', 'other', 'other']);
});

test('sizes, lengths and types are said in a few letters', () => {
  assert.equal(sizeText(1_260_000, 'en'), '1.2 MB');
  assert.equal(sizeText(1_260_000, 'de'), '1,2 MB');
  assert.equal(sizeText(20 * 1024 * 1024, 'en'), '20 MB');
  assert.equal(sizeText(0, 'en'), '0 byte');
  assert.deepEqual([0, 7400, 750_000].map(lengthText), ['0:00', '0:07', '12:30']);
  assert.equal(typeText('offer.final.pdf', 'application/pdf'), 'PDF');
  assert.equal(typeText('notes', 'text/plain'), 'PLAI');
});

test('what is empty, too large or too many is told by name', () => {
  const chosen = ['a', 'b', 'c', 'd'].map((name, at) => ({ name, size: [1, 0, 30, 2][at] ?? 0 }));
  const { taken, refused } = sortOut(chosen, 8, { file_bytes: 20, attachments: 9 });
  assert.deepEqual(
    taken.map(({ name }) => name),
    ['a'],
  );
  assert.deepEqual(refused, [
    { name: 'b', why: 'empty' },
    { name: 'c', why: 'too_large' },
    { name: 'd', why: 'too_many' },
  ]);
});

test('one of a list moves, and never out of it', () => {
  assert.deepEqual(moved(['a', 'b', 'c'], 0, 2), ['b', 'c', 'a']);
  assert.deepEqual(moved(['a', 'b', 'c'], 2, 0), ['c', 'a', 'b']);
  assert.deepEqual(moved(['a', 'b', 'c'], 1, 9), ['a', 'c', 'b']);
  assert.deepEqual(moved(['a', 'b'], 0, -1), ['a', 'b']);
});

test('uploads of a message are one measure, which ends with the last', () => {
  const first = { state: 'done', bytes: 300, sentBytes: 0 };
  const second = { state: 'uploading', bytes: 100, sentBytes: 50 };
  assert.equal(percentOf([first, second]), 87);
  assert.equal(percentOf([first]), null);
  assert.equal(percentOf([]), null);
});

test('a wave form has the bars that there is room for', () => {
  assert.deepEqual(barsOf([1, 9, 2, 3], 2), [9, 3]);
  assert.deepEqual(barsOf([5], 3), [5, 5, 5]);
  assert.deepEqual(barsOf([], 2), [0, 0]);
  assert.deepEqual(waveFormOf([1, 5, 2, 10], 2), [50, 100]);
  assert.deepEqual(waveFormOf([0, 0], 2), [0, 0]);
});

test('up to ten pictures fill whole rows', () => {
  const widths = { lead: 4, half: 3, third: 2 };
  for (let count = 2; count <= 10; count += 1) {
    const tiles = tilesOf(count);
    assert.equal(tiles.length, count);
    // The one large picture of three stands beside two rows.
    const cells = tiles.reduce((sum, tile) => sum + widths[tile] * (tile === 'lead' ? 2 : 1), 0);
    assert.equal(cells % 6, 0, `${count} pictures`);
  }
});

test('a picture alone keeps its shape within bounds, and has one before it is known', () => {
  assert.equal(ratioOf(400, 300), 4 / 3);
  assert.equal(ratioOf(100, 1000), 3 / 4);
  assert.equal(ratioOf(3000, 300), 16 / 9);
  assert.equal(ratioOf(null, null), 4 / 3);
});

test('browsers get the better format where they know it, in two sizes', () => {
  assert.deepEqual(sourcesOf(file()), {
    sources: [{ type: 'image/webp', srcset: '/thumb.webp 320w, /preview.webp 1280w' }],
    src: '/thumb.jpeg',
    srcset: '/thumb.jpeg 320w, /preview.jpeg 1280w',
  });
  assert.equal(largestOf(file())?.src, '/preview.jpeg');
  assert.equal(sourcesOf(file({ renditions: [] })), null);
});

test('what is blurred shows its blurred rendition only', () => {
  const renditions = [rendition('blurred', 'image/jpeg', 64)];
  const blurred = file({ visibility: 'blurred', renditions });
  assert.equal(sourcesOf(blurred)?.src, '/blurred.jpeg');
  assert.equal(downloadOf(blurred), null);
});

test('a video shows its poster', () => {
  const renditions = [
    rendition('poster', 'image/jpeg', 640),
    rendition('preview', 'video/mp4', 640),
  ];
  assert.equal(sourcesOf(file({ media: 'video', renditions }))?.src, '/poster.jpeg');
});

test('an address says when it ends, the server’s own and that of S3', () => {
  assert.equal(endOf('/blobs/files/fil_1/thumb?expires=1800000000&signature=x'), 1_800_000_000_000);
  const s3 = 'https://s3.test/x?X-Amz-Date=20270115T080000Z&X-Amz-Expires=600';
  assert.equal(endOf(s3), Date.parse('2027-01-15T08:10:00.000Z'));
  assert.equal(endOf('/thumb'), Infinity);
});

test('an address that is about to end is asked for anew', () => {
  const renditions = [{ ...rendition('thumb', 'image/jpeg', 9), url: '/x?expires=1000' }];
  assert.equal(isStale(file({ renditions }), 900_000), false);
  assert.equal(isStale(file({ renditions }), 990_000), true);
  assert.equal(isStale(file({ renditions: [] }), 0), false);
});

test('fresh addresses of the same picture are no other picture', () => {
  const [first] = file().renditions;
  const fresh = file({ renditions: file().renditions.map((each) => ({ ...each, url: '/new' })) });
  assert.equal(lookOf(file()), lookOf(fresh));
  assert.notEqual(lookOf(file()), lookOf(file({ renditions: first ? [first] : [] })));
  assert.notEqual(lookOf(file()), lookOf(file({ visibility: 'blurred' })));
});

test('what lies under the finger stays there while the picture grows, up to a bound', () => {
  const larger = zoomed(WHOLE, 2, { x: 100, y: 50 });
  assert.deepEqual(larger, { scale: 2, x: -100, y: -50 });
  assert.equal(zoomed(WHOLE, 99).scale, MOST_SCALE);
  assert.deepEqual(zoomed(larger, 0.1), WHOLE);
});

test('a picture that is dragged keeps its edges outside the box', () => {
  const box = { width: 400, height: 300 };
  const place = { scale: 2, x: 0, y: 0 };
  assert.deepEqual(dragged(place, { x: 900, y: -900 }, box), { scale: 2, x: 200, y: -150 });
});

test('a swipe leads on in the direction of reading, and down is away', () => {
  assert.equal(swipe({ x: -80, y: 5 }, false), 'next');
  assert.equal(swipe({ x: -80, y: 5 }, true), 'previous');
  assert.equal(swipe({ x: 20, y: 5 }, false), null);
  assert.equal(swipe({ x: 10, y: 200 }, false), 'close');
});
