import assert from 'node:assert/strict';
import { test } from 'node:test';

import { compareRows, type Row } from '../src/inbox/folders.ts';
import { InboxList } from '../src/inbox/list.ts';
import { row } from './inbox_things.ts';

type Page = Parameters<InboxList['takeFirst']>[0];

function page(items: Row[], next_cursor: string | null = null): Page {
  return { items, next_cursor };
}

function ids(list: InboxList): string {
  return list.rows.map(({ thread }) => thread.id).join('');
}

function loaded(rows: Row[], next: string | null = null): InboxList {
  const list = new InboxList({ folder: 'all' });
  list.takeFirst(page(rows, next), new Set());
  return list;
}

test('what this device knows is shown until the first page is there', () => {
  const list = new InboxList({ folder: 'all' });
  list.showStored([row('b', 2), row('a', 3), row('s', 9, { placement: 'spam' })]);
  assert.equal(ids(list), 'ab');
  assert.equal(list.isLoaded, false);
  list.takeFirst(page([row('a', 3)]), new Set());
  assert.equal(ids(list), 'a');
  list.showStored([row('b', 2)]);
  assert.equal(ids(list), 'a');
});

test('a row with a new message moves up, and is there once', () => {
  const list = loaded([row('a', 3), row('b', 2), row('c', 1)]);
  list.put(row('c', 7));
  assert.equal(ids(list), 'cab');
  list.put(row('b', 2, { pinned: true }));
  assert.equal(ids(list), 'bca');
  list.put(row('b', 2));
  assert.equal(ids(list), 'cab');
});

test('a row that no longer belongs leaves, one that now belongs enters in its place', () => {
  const list = loaded([row('a', 3), row('c', 1)]);
  list.put(row('a', 3, { placement: 'archived' }));
  assert.equal(ids(list), 'c');
  list.put(row('b', 2));
  list.put(row('a', 3));
  assert.equal(ids(list), 'abc');
});

test('a thread that the person has left is gone', () => {
  const list = loaded([row('a', 3), row('b', 2)]);
  list.forget('a');
  assert.deepEqual([ids(list), list.find('a'), list.indexOf('a')], ['b', null, -1]);
});

test('a row below the last page waits until the pages get there', () => {
  const list = loaded([row('a', 9), row('b', 8)], 'next');
  list.put(row('z', 1));
  assert.equal(ids(list), 'ab');
  list.takeNext(page([row('c', 7), row('d', 6)], 'more'), new Set());
  assert.equal(ids(list), 'abcd');
  list.takeNext(page([row('e', 5), row('z', 1)]), new Set());
  assert.equal(ids(list), 'abcdez');
});

test('a row that is unpinned to below the last page is not lost and not twice', () => {
  const list = loaded([row('p', 1, { pinned: true }), row('a', 9)], 'next');
  list.put(row('p', 1));
  assert.equal(ids(list), 'a');
  list.takeNext(page([row('b', 5), row('p', 1)]), new Set());
  assert.equal(ids(list), 'abp');
});

test('a row that moved up before its page came is there once', () => {
  const list = loaded([row('a', 9), row('b', 8)], 'next');
  const flight = list.flight();
  list.put(row('d', 20));
  list.takeNext(page([row('c', 7), row('d', 6)]), flight);
  assert.equal(ids(list), 'dabc');
});

test('what changed while a page was on its way is newer than the page', () => {
  const list = loaded([row('a', 9), row('b', 8)]);
  const flight = list.flight();
  list.put(row('a', 9, { placement: 'archived' }));
  list.put(row('b', 8, { starred: true }));
  list.put(row('n', 10));
  list.forget('g');
  list.takeFirst(page([row('a', 9), row('b', 8), row('g', 7)]), flight);
  assert.equal(ids(list), 'nb');
  assert.equal(list.find('b')?.inbox.starred, true);
  list.land(flight);
  list.put(row('x', 1));
  assert.equal(flight.has('x'), false);
});

test('while a search is on, known names stay and others are for the server to judge', () => {
  const list = new InboxList({ folder: 'all', q: 'look' });
  list.takeFirst(page([row('a', 3), row('b', 2)]), new Set());
  assert.equal(list.put(row('b', 5)), true);
  assert.equal(ids(list), 'ba');
  assert.equal(list.put(row('c', 9)), false);
  assert.equal(list.put(row('a', 3, {}, { subject: 'Another' })), false);
  assert.equal(ids(list), 'b');
  list.takeAgain(page([row('c', 9), row('b', 5)]), new Set());
  assert.equal(ids(list), 'cb');
});

test('whatever moves while pages come, each thread is there once and in order', () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (let round = 0; round < 200; round += 1) {
    const names = Array.from({ length: 12 }, (_, n) => `t${n}`);
    const server = new Map(names.map((name) => [name, row(name, random(30))]));
    const sorted = (): Row[] => [...server.values()].sort(compareRows);
    const after = (last: Row | null): Row[] =>
      sorted().filter((each) => last === null || compareRows(each, last) > 0);
    const list = new InboxList({ folder: 'all' });
    let last: Row | null = null;
    let isFirst = true;
    do {
      const flight = list.flight();
      const rest: Row[] = after(last);
      const items = rest.slice(0, 4);
      const answer = page(items, rest.length > 4 ? 'next' : null);
      // Things happen after the server has read the page and before the page is here.
      for (let n = random(4); n > 0; n -= 1) {
        const id = `t${random(12)}`;
        const moved = row(id, random(60), { pinned: random(6) === 0 });
        server.set(id, moved);
        list.put(moved);
      }
      if (isFirst) list.takeFirst(answer, flight);
      else list.takeNext(answer, flight);
      list.land(flight);
      last = items.at(-1) ?? last;
      isFirst = false;
    } while (list.nextCursor !== null);
    assert.deepEqual(
      list.rows.map((each) => each.thread.id),
      sorted().map((each) => each.thread.id),
      `round ${round}`,
    );
  }
});
