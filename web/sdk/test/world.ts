/** What a server holds of one person's threads: the truth, and every answer as it is just now. */

import type {
  Card,
  FeedEvent,
  InboxEdit,
  InboxPage,
  InboxRow,
  Mark,
  Message,
  MessagesPage,
  Receipt,
  SyncPage,
  Thread,
  ThreadItem,
} from '../src/types.js';
import { START_MS } from './fakes.js';
import { card, message, participant, row, thread } from './things.js';

export const OWN = 'ben';
export const OTHER = 'mia';

/** One thread as it is now. */
export interface Home {
  readonly id: string;
  readonly kind: Thread['kind'];
  subject: string;
  isIn: boolean;
  wasLeft: boolean;
  /** What is not above this was written before the person came. */
  floor: number;
  messages: Message[];
  edit: Required<Pick<InboxEdit, 'pinned' | 'starred' | 'archived'>>;
  /** Up to which `seq` the person has read. */
  read: number;
  /** How far the other one has got. */
  marks: { read: Mark | null; delivered: Mark | null };
}

/** What the feed keeps of a change; the rest is filled in when it is told. */
interface Entry {
  type: FeedEvent['type'];
  home: Home;
  messageId?: string;
  receipt?: Receipt;
  isLast?: boolean;
}

export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

export class World {
  readonly homes = new Map<string, Home>();
  /** Called when there is something to tell. */
  readonly listeners = new Set<() => void>();
  /** How many events a page of `sync` has, and rows a page of the inbox. */
  page = 100;
  rowsPage = 50;
  /** Whether a cursor of before a restore is answered with a reset, or refused. */
  knowsOldCursors = true;
  #epoch = 0;
  #entries: Entry[] = [];
  #moments = 0;

  get cursor(): string {
    return this.#cursorAt(this.#entries.length);
  }

  #cursorAt(number: number): string {
    return `${this.#epoch}-${number}`;
  }

  /** Of the events that the feed has, those of threads that were never left. */
  get steady(): string[] {
    return this.#entries.flatMap(({ home }, index) =>
      home.wasLeft ? [] : this.#cursorAt(index + 1),
    );
  }

  open(id: string, kind: Thread['kind'] = 'inquiry'): Home {
    const edit = { pinned: false, starred: false, archived: false };
    const marks = { read: null, delivered: null };
    const at = { floor: 0, messages: [], read: 0, isIn: true, wasLeft: false };
    const home: Home = { id, kind, subject: `about ${id}`, edit, marks, ...at };
    this.homes.set(id, home);
    this.#tell({ type: 'thread.changed', home });
    return home;
  }

  write(home: Home, more: Partial<Message> = {}): Message {
    const seq = home.messages.length + 1;
    const id = `msg_${home.id}_${String(seq).padStart(6, '0')}`;
    const at = this.moment();
    const written = message(seq, { id, thread_id: home.id, created_at: at, ...more });
    home.messages.push(written);
    this.#tell({ type: 'message.new', home, messageId: id });
    return written;
  }

  /** The same `client_id` again is the same message. */
  send(threadId: string, clientId: string, body: string): Message {
    const home = this.access(threadId);
    const found = home.messages.find((each) => each.client_id === clientId);
    return found ?? this.write(home, { author_id: OWN, client_id: clientId, body });
  }

  showCard(home: Home): void {
    const seq = home.messages.length + 1;
    const messageId = `msg_${home.id}_${String(seq).padStart(6, '0')}`;
    const id = `crd_${home.id}_${seq}`;
    const shown = card(seq, { id, thread_id: home.id, message_id: messageId });
    this.write(home, { kind: 'card', card: shown });
  }

  change(home: Home, seq: number, body: string): Message {
    return this.#rewrite(home, seq, 'message.edited', { body, edited_at: this.moment() });
  }

  erase(home: Home, seq: number): Message {
    const gone = { body: '', body_html: '', deleted_at: this.moment() };
    return this.#rewrite(home, seq, 'message.deleted', gone);
  }

  act(cardId: string): Card {
    for (const home of this.homes.values()) {
      const shown = home.messages.find((each) => each.card?.id === cardId);
      if (!shown?.card || !home.isIn) continue;
      const next = { ...shown.card, version: shown.card.version + 1 };
      this.#rewrite(home, shown.seq, 'card.changed', { card: next });
      return next;
    }
    throw new Refused(404, 'NOT_FOUND');
  }

  #rewrite(home: Home, seq: number, type: FeedEvent['type'], more: Partial<Message>): Message {
    const before = home.messages[seq - 1];
    if (!before || before.deleted_at) throw new Refused(409, 'CONFLICT');
    const after = { ...before, ...more };
    home.messages[seq - 1] = after;
    this.#tell({ type, home, messageId: after.id });
    return after;
  }

  /** The other one has got as far as this message. */
  arrive(home: Home, seq: number, kind: 'read' | 'delivered'): void {
    const reached = home.messages[seq - 1];
    if (!reached || reached.id <= (home.marks[kind]?.message_id ?? '')) return;
    const at = this.moment();
    const mark = { message_id: reached.id, at };
    home.marks[kind] = mark;
    if (kind === 'read' && reached.id > (home.marks.delivered?.message_id ?? '')) {
      home.marks.delivered = mark;
    }
    const receipt = { user_id: OTHER, kind, message_id: reached.id, seq, at };
    this.#tell({ type: 'receipt', home, messageId: reached.id, receipt });
  }

  read(home: Home, seq: number): InboxRow {
    home.read = Math.max(home.read, seq);
    this.#tell({ type: 'inbox.changed', home });
    return this.row(home);
  }

  arrange(home: Home, edit: InboxEdit): InboxRow {
    home.edit = { ...home.edit, ...edit };
    this.#tell({ type: 'inbox.changed', home });
    return this.row(home);
  }

  rename(home: Home, subject: string): void {
    home.subject = subject;
    this.#tell({ type: 'thread.changed', home });
  }

  leave(home: Home): void {
    home.isIn = false;
    home.wasLeft = true;
    this.#tell({ type: 'thread.changed', home, isLast: true });
  }

  comeBack(home: Home): void {
    home.isIn = true;
    home.floor = home.messages.length;
    home.read = home.floor;
    home.edit = { pinned: false, starred: false, archived: false };
    this.#tell({ type: 'thread.changed', home });
    this.write(home, { body: 'welcome back' });
  }

  /** From a copy: `between` happens untold, and no cursor of before is worth anything. */
  restore(between: () => void): void {
    between();
    this.#epoch += 1;
    this.#entries = [];
  }

  /** Those whose places differ by it are told in this order, and no two are the same. */
  moment(): string {
    this.#moments += 1;
    return new Date(START_MS + this.#moments).toISOString();
  }

  #tell(entry: Entry): void {
    this.#entries.push(entry);
    for (const listener of [...this.listeners]) listener();
  }

  access(threadId: string): Home {
    const home = this.homes.get(threadId);
    if (!home?.isIn) throw new Refused(404, 'THREAD_NOT_FOUND');
    return home;
  }

  visible(home: Home): Message[] {
    return home.messages.slice(home.floor);
  }

  threadOf(home: Home): Thread {
    const other = participant(OTHER, {
      last_read: home.marks.read,
      last_delivered: home.marks.delivered,
    });
    const { id, kind, subject } = home;
    return thread(id, { kind, subject, participants: [other, participant(OWN)] });
  }

  row(home: Home): InboxRow {
    const seen = this.visible(home);
    const last = seen.at(-1);
    const isNew = ({ seq, author_id, deleted_at }: Message): boolean =>
      seq > home.read && author_id !== OWN && !deleted_at;
    const lastRead = home.messages[home.read - 1];
    const { pinned, starred, archived } = home.edit;
    return row(home.id, {
      placement: archived ? 'archived' : 'inbox',
      pinned,
      starred,
      unread_count: seen.filter(isNew).length,
      last_read: lastRead ? { message_id: lastRead.id, at: lastRead.created_at } : null,
      last_message_at: last?.created_at ?? null,
      last_sender_id: last?.author_id ?? null,
    });
  }

  item(home: Home): ThreadItem {
    return { thread: this.threadOf(home), inbox: this.row(home) };
  }

  thread(threadId: string): object {
    return { ...this.item(this.access(threadId)), sync_cursor: this.cursor };
  }

  messages(threadId: string, before: string | null, limit: number): MessagesPage {
    const seen = this.visible(this.access(threadId));
    const older = seen.filter(({ id }) => before === null || id < before);
    const items = older.slice(-limit);
    return { items, has_more: older.length > items.length, sync_cursor: this.cursor };
  }

  /** A page of a folder, from below the row that the cursor names. */
  inbox(folder: string, below: string | null, limit = this.rowsPage): InboxPage {
    const all = [...this.homes.values()].filter(({ isIn }) => isIn).map((home) => this.item(home));
    const rows = all
      .filter((item) => isIn(item, folder))
      .filter((item) => below === null || placeOf(item) < below)
      .sort((one, other) => (placeOf(one) < placeOf(other) ? 1 : -1));
    const items = rows.slice(0, limit);
    const last = rows.length > items.length ? items.at(-1) : undefined;
    const folders = ['all', 'action', 'bookings', 'offers', 'requests', 'archived', 'spam'];
    const unread = (name: string): number =>
      all.filter((item) => isIn(item, name) && item.inbox.unread_count > 0).length;
    return {
      items,
      next_cursor: last ? placeOf(last) : null,
      counts: Object.fromEntries(folders.map((name) => [name, unread(name)])) as never,
      sync_cursor: this.cursor,
    };
  }

  /** What is new since a cursor, as it looks now. */
  sync(since: string): SyncPage {
    const [epoch, number] = since.split('-');
    if (Number(epoch) !== this.#epoch) {
      if (!this.knowsOldCursors) throw new Refused(400, 'INVALID_REQUEST');
      const { cursor } = this;
      return { events: [{ type: 'reset', cursor, at: this.moment() }], cursor, has_more: false };
    }
    const from = Number(number);
    const entries = this.#entries.slice(from, from + this.page);
    const events = entries.flatMap((entry, index) => this.#fill(entry, from + index + 1) ?? []);
    const cursor = this.#cursorAt(from + entries.length);
    return { events, cursor, has_more: from + entries.length < this.#entries.length };
  }

  #fill({ type, home, messageId, receipt, isLast }: Entry, number: number): FeedEvent | null {
    const told = { type, cursor: this.#cursorAt(number), at: this.moment(), thread_id: home.id };
    if (type === 'thread.changed') {
      return isLast || !home.isIn ? told : { ...told, thread: this.threadOf(home) };
    }
    if (!home.isIn) return null;
    if (type === 'inbox.changed') return { ...told, inbox: this.row(home) };
    const about = this.visible(home).find(({ id }) => id === messageId);
    if (!about) return null;
    if (receipt) return { ...told, receipt };
    const inbox = this.row(home);
    if (type === 'card.changed') return about.card ? { ...told, inbox, card: about.card } : null;
    return { ...told, inbox, message: about };
  }
}

function isIn({ thread: { kind }, inbox }: ThreadItem, folder: string): boolean {
  if (inbox.placement !== (folder === 'archived' ? 'archived' : 'inbox')) return false;
  if (folder === 'bookings') return kind === 'project';
  if (folder === 'offers') return kind === 'inquiry';
  return folder === 'all' || folder === 'archived';
}

/** Sorts as the inbox does: what stands above is greater. */
function placeOf({ thread: { id, created_at }, inbox }: ThreadItem): string {
  return `${inbox.pinned ? 1 : 0} ${inbox.last_message_at ?? created_at} ${id}`;
}
