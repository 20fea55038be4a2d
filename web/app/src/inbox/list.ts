/** The rows of one view: pages of the server, and what has changed since. Pure.
 *
 * Pages come by a key, so rows that move while one scrolls would be seen twice or not at all. Here
 * each thread has one row; one that sorts below what is loaded waits until the pages get there. */

import type { InboxPage } from '@greenroom/sdk';

import { belongs, compareRows, type Row, type View } from './folders.ts';

type Page = Pick<InboxPage, 'items' | 'next_cursor'>;

export class InboxList {
  readonly view: View;
  /** The page that comes next, or null if all is loaded. */
  nextCursor: string | null = null;
  /** False while only rows from this device are shown. */
  isLoaded = false;
  #rows: Row[] = [];
  readonly #byId = new Map<string, Row>();
  /** They belong here, but below the last page. */
  readonly #below = new Map<string, Row>();
  /** The last row of the last page, while there are more pages. */
  #floor: Row | null = null;
  /** Of each request under way, the threads that changed meanwhile. */
  readonly #flights = new Set<Set<string>>();

  constructor(view: View) {
    this.view = view;
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  find(threadId: string): Row | null {
    return this.#byId.get(threadId) ?? this.#below.get(threadId) ?? null;
  }

  indexOf(threadId: string): number {
    const row = this.#byId.get(threadId);
    return row ? this.#placeOf(row) : -1;
  }

  /** What this device knows, to be seen until the first page is there. */
  showStored(rows: Iterable<Row>): void {
    if (this.isLoaded) return;
    this.#clear();
    for (const row of rows) if (belongs(row, this.view) !== false) this.#enter(row);
  }

  /** To be called when a request goes out; its answer is then taken with what is returned. */
  flight(): Set<string> {
    const changed = new Set<string>();
    this.#flights.add(changed);
    return changed;
  }

  /** Whether its answer is still wanted. */
  land(flight: Set<string>): boolean {
    return this.#flights.delete(flight);
  }

  /** After a gap in the feed: what is under way may be of before it. */
  groundAll(): void {
    this.#flights.clear();
  }

  /** The first page replaces everything, except what has changed since it was asked for. */
  takeFirst(page: Page, changed: ReadonlySet<string>): void {
    const newer = [...changed].flatMap((id) => this.find(id) ?? []);
    this.#clear();
    this.isLoaded = true;
    this.#take(page, changed, newer);
  }

  takeNext(page: Page, changed: ReadonlySet<string>): void {
    const below = [...this.#below.values()];
    this.#below.clear();
    this.#take(page, changed, below);
  }

  /** The first page again: what it has and the list has not comes in, and nothing else moves. */
  takeAgain(page: Page, changed: ReadonlySet<string>): void {
    for (const row of page.items) if (!changed.has(row.thread.id)) this.#replace(row);
  }

  /** A row as it is now. False if only the server can tell whether it belongs here. */
  put(row: Row): boolean {
    const { id } = row.thread;
    for (const changed of this.#flights) changed.add(id);
    const before = this.find(id);
    const decided = belongs(row, this.view);
    const stays = decided === 'unsure' && before !== null && isNamedAlike(before, row);
    this.#leave(id);
    if (decided === true || stays) this.#enter(row);
    return decided !== 'unsure' || stays;
  }

  /** The viewer is no longer in it. */
  forget(threadId: string): void {
    for (const changed of this.#flights) changed.add(threadId);
    this.#leave(threadId);
  }

  #take({ items, next_cursor }: Page, changed: ReadonlySet<string>, others: readonly Row[]): void {
    this.nextCursor = next_cursor;
    const fresh = items.filter(({ thread }) => !changed.has(thread.id));
    // The lowest of all, also of those that have changed since: the server has gone past them.
    const lowest = [...items].sort(compareRows).at(-1) ?? this.#floor;
    this.#floor = next_cursor === null ? null : lowest;
    for (const row of others) this.#enter(row);
    for (const row of fresh) this.#replace(row);
  }

  #replace(row: Row): void {
    this.#leave(row.thread.id);
    this.#enter(row, true);
  }

  #enter(row: Row, isFromPage = false): void {
    const { id } = row.thread;
    if (!isFromPage && this.#floor && compareRows(row, this.#floor) > 0) {
      this.#below.set(id, row);
      return;
    }
    this.#byId.set(id, row);
    this.#rows.splice(this.#placeOf(row), 0, row);
  }

  #leave(threadId: string): void {
    const row = this.#byId.get(threadId);
    if (row) this.#rows.splice(this.#placeOf(row), 1);
    this.#byId.delete(threadId);
    this.#below.delete(threadId);
  }

  /** Where a row is, or where it would be. */
  #placeOf(row: Row): number {
    let from = 0;
    let to = this.#rows.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (compareRows(this.#rows[middle] as Row, row) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  #clear(): void {
    this.#rows = [];
    this.#byId.clear();
    this.#below.clear();
    this.#floor = null;
  }
}

/** A search looks at the subject and the names: if these are the same, so is its answer. */
function isNamedAlike(one: Row, other: Row): boolean {
  const names = ({ thread }: Row): string =>
    [thread.subject, ...thread.participants.map((each) => each.display_name)].join('\n');
  return names(one) === names(other);
}
