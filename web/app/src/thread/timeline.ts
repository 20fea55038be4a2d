/** A thread's messages as one list, and the list as days of rows. Pure. */

import type { Card, InboxRow, Message, Send, StoredFile } from '@greenroom/sdk';

/** Messages of one person that follow each other this closely stand together. */
export const GROUP_MS = 5 * 60_000;
/** As many stay in the page however far one scrolls. */
export const MOST_SHOWN = 400;
export const FIRST_SHOWN = 6;
/** Of many that are new, so many are drawn first. */
export const FIRST_NEW_SHOWN = 40;
/** How many come at a time, so that a step is a short task on a slow phone too. */
const STEP = 6;

/** What this view has: everything from `floor` on, except what the viewer may not see. */
export interface Loaded {
  readonly messages: readonly Message[];
  readonly floor: number;
  /** False only when it is known. */
  readonly hasOlder: boolean;
}

export const NOTHING: Loaded = { messages: [], floor: 0, hasOlder: true };

interface Page {
  readonly items: readonly Message[];
  readonly has_more: boolean;
}

/** The newest page. What is older than it stays only where both surely touch. */
export function withNewest(loaded: Loaded, page: Page): Loaded {
  const oldest = page.items[0];
  if (!oldest || !page.has_more) {
    return { messages: merged(loaded.messages, page.items), floor: 0, hasOlder: false };
  }
  const first = loaded.messages[0];
  if (first && first.seq < oldest.seq && loaded.messages.some(({ id }) => id === oldest.id)) {
    const floor = loaded.hasOlder ? first.seq : 0;
    return { ...loaded, messages: merged(loaded.messages, page.items), floor };
  }
  const newer = loaded.messages.filter(({ seq }) => seq >= oldest.seq);
  return { messages: merged(newer, page.items), floor: oldest.seq, hasOlder: true };
}

/** The page before the oldest message here. */
export function withOlder(loaded: Loaded, page: Page): Loaded {
  const floor = page.has_more ? (page.items[0]?.seq ?? loaded.floor) : 0;
  return { messages: merged(loaded.messages, page.items), floor, hasOlder: page.has_more };
}

/** What the feed or the stored state tells. Older than the floor comes with its own page. */
export function withLive(loaded: Loaded, messages: readonly Message[], add: boolean): Loaded {
  const known = new Map(loaded.messages.map((each) => [each.id, each]));
  const wanted = messages.filter((each) => {
    const present = known.get(each.id);
    if (present) return present !== each && isAsLate(each, present);
    return add && each.seq >= loaded.floor;
  });
  if (wanted.length === 0) return loaded;
  return { ...loaded, messages: merged(loaded.messages, wanted) };
}

export function withCard(loaded: Loaded, card: Card): Loaded {
  const shown = loaded.messages.find(({ id }) => id === card.message_id);
  return shown ? withLive(loaded, [{ ...shown, card }], false) : loaded;
}

/** A file as it is now; the same list where none of its messages has it. */
export function withFile(loaded: Loaded, file: StoredFile): Loaded {
  const shown = loaded.messages.map((each) =>
    showsFile(each, file) ? withFileIn(each, file) : each,
  );
  return shown.some((each, at) => each !== loaded.messages[at])
    ? { ...loaded, messages: shown }
    : loaded;
}

function showsFile({ attachments, card }: Message, { id }: StoredFile): boolean {
  const ofCard = card?.files ?? [];
  return attachments.some(({ file_id }) => file_id === id) || ofCard.some((each) => each.id === id);
}

function withFileIn(message: Message, file: StoredFile): Message {
  const { card, attachments } = message;
  const files = card?.files?.map((each) => (each.id === file.id ? file : each));
  return {
    ...message,
    attachments: attachments.map((each) => (each.file_id === file.id ? { ...each, file } : each)),
    ...(card && files ? { card: { ...card, files } } : {}),
  };
}

/** Each message once, in its latest form, by `seq`. */
function merged(before: readonly Message[], more: readonly Message[]): Message[] {
  const byId = new Map(before.map((each) => [each.id, each]));
  for (const each of more) {
    const present = byId.get(each.id);
    if (!present || isAsLate(each, present)) byId.set(each.id, each);
  }
  return [...byId.values()].sort((one, other) => one.seq - other.seq);
}

/** Forms of a message follow each other: sent, edited, edited again, deleted. Cards count. */
function isAsLate(one: Message, other: Message): boolean {
  if (one.card && other.card) return one.card.version >= other.card.version;
  const rank = ({ deleted_at, edited_at }: Message): string =>
    deleted_at ? `2${deleted_at}` : `1${edited_at ?? ''}`;
  return rank(one) >= rank(other);
}

/** The part of the list that is in the page, by `seq`; both ends are in it. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

export const WHOLE: Span = { first: 0, last: Infinity };

export function shownOf(messages: readonly Message[], span: Span): Message[] {
  return messages.filter(({ seq }) => seq >= span.first && seq <= span.last);
}

/** The latest messages, and those that come. */
export function latest(messages: readonly Message[]): Span {
  const first = messages.length > MOST_SHOWN ? messages.at(-MOST_SHOWN)?.seq : 0;
  return { first: first ?? 0, last: Infinity };
}

/** What is drawn first: the last screen's worth, or what is new from its first on. The rest follows
 * when that is there. */
export function opening(messages: readonly Message[], viewer: Viewer): Span {
  const unread = firstUnreadOf(messages, viewer);
  const newFrom = unread ? messages.indexOf(unread) - 1 : messages.length;
  const from = Math.max(0, Math.min(messages.length - FIRST_SHOWN, newFrom));
  const to = from + FIRST_NEW_SHOWN;
  return {
    first: from > 0 ? (messages[from]?.seq ?? 0) : 0,
    last: unread && to < messages.length - 1 ? (messages[to]?.seq ?? Infinity) : Infinity,
  };
}

/** More at the top; what is then too much goes at the bottom. */
export function upwards(messages: readonly Message[], span: Span): Span {
  const at = messages.findIndex(({ seq }) => seq >= span.first);
  const from = Math.max(0, at - STEP);
  const first = from === 0 ? 0 : (messages[from]?.seq ?? 0);
  const last = messages[from + MOST_SHOWN - 1]?.seq ?? Infinity;
  return { first, last: Math.min(last, span.last) };
}

/** More at the bottom; what is then too much goes at the top. */
export function downwards(messages: readonly Message[], span: Span): Span {
  const at = messages.findLastIndex(({ seq }) => seq <= span.last);
  const to = at + STEP;
  const last = to >= messages.length - 1 ? Infinity : (messages[to]?.seq ?? Infinity);
  const end = Math.min(to, messages.length - 1);
  const first = messages[end - MOST_SHOWN + 1]?.seq ?? 0;
  return { first: Math.max(first, span.first), last };
}

/** So that one message is there, with what is around it. */
export function around(messages: readonly Message[], messageId: string): Span {
  const at = messages.findIndex(({ id }) => id === messageId);
  const from = Math.max(0, at - MOST_SHOWN / 2);
  const to = from + MOST_SHOWN - 1;
  return {
    first: from === 0 ? 0 : (messages[from]?.seq ?? 0),
    last: to >= messages.length - 1 ? Infinity : (messages[to]?.seq ?? Infinity),
  };
}

export type Row = MessageRow | PendingRow | UnreadRow;

interface Place {
  /** Stays while a send becomes its message, so that its bubble stays too. */
  readonly key: string;
  readonly isOwn: boolean;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

export interface MessageRow extends Place {
  readonly type: 'message';
  readonly message: Message;
}

export interface PendingRow extends Place {
  readonly type: 'pending';
  readonly send: Send;
}

/** Before the first message that is new to the viewer. */
export interface UnreadRow {
  readonly type: 'unread';
  readonly key: 'unread';
}

export interface Day {
  readonly key: string;
  readonly at: string;
  readonly rows: readonly Row[];
}

export interface Viewer {
  readonly userId: string;
  /** The last message that was read when the thread was opened; null for no line. */
  readonly unreadAfter: string | null;
  /** The same for all moments of a day where the viewer is. */
  dayKey(at: string): string;
}

interface Entry {
  key: string;
  at: string;
  author: string | null;
  message?: Message;
  send?: Send;
}

export function daysOf(
  messages: readonly Message[],
  sends: readonly Send[],
  viewer: Viewer,
): Day[] {
  const entries = entriesOf(messages, sends, viewer.userId);
  const firstUnread = firstUnreadOf(messages, viewer);
  const days: { key: string; at: string; rows: Row[] }[] = [];
  let day: (typeof days)[number] | undefined;
  entries.forEach((entry, index) => {
    const dayKey = viewer.dayKey(entry.at);
    if (day?.key !== dayKey) days.push((day = { key: dayKey, at: entry.at, rows: [] }));
    const { rows } = day;
    if (firstUnread && entry.message === firstUnread) rows.push({ type: 'unread', key: 'unread' });
    const startsAnew = (one: Entry | undefined, next: Entry | undefined): boolean =>
      !one ||
      !next ||
      !isTogether(one, next) ||
      next.message === firstUnread ||
      viewer.dayKey(one.at) !== viewer.dayKey(next.at);
    rows.push(
      rowOf(entry, {
        isOwn: entry.author === viewer.userId,
        isFirst: startsAnew(entries[index - 1], entry),
        isLast: startsAnew(entry, entries[index + 1]),
      }),
    );
  });
  return days;
}

/** The first that somebody else wrote after what was read. */
export function firstUnreadOf(messages: readonly Message[], viewer: Viewer): Message | undefined {
  const { unreadAfter, userId } = viewer;
  if (unreadAfter === null) return undefined;
  return messages.find(({ id, author_id }) => id > unreadAfter && author_id !== userId);
}

/** Whether messages that the server counts as unread are older than what is loaded. Own messages
 * may fill pages after what was read, and none of them is new. */
export function lacksUnread(
  { messages, hasOlder }: Loaded,
  row: InboxRow,
  userId: string,
): boolean {
  const readUpTo = row.last_read?.message_id ?? '';
  const isCounted = ({ id, author_id, deleted_at }: Message): boolean =>
    id > readUpTo && author_id !== userId && deleted_at === null;
  return hasOlder && messages.filter(isCounted).length < row.unread_count;
}

/** A send whose message is here already is that message. */
function entriesOf(messages: readonly Message[], sends: readonly Send[], userId: string): Entry[] {
  const arrived = new Set(messages.map(({ client_id }) => client_id));
  const waiting = sends.filter(({ clientId }) => !arrived.has(clientId));
  return [
    ...messages.map((message) => ({
      key: message.client_id ?? message.id,
      at: message.created_at,
      author: message.author_id,
      message,
    })),
    ...waiting.map((send) => ({
      key: send.clientId,
      at: new Date(send.queuedAtMs).toISOString(),
      author: userId,
      send,
    })),
  ];
}

function isTogether(one: Entry, next: Entry): boolean {
  const isSpoken = (entry: Entry): boolean => entry.message?.kind !== 'system';
  return (
    one.author === next.author &&
    isSpoken(one) &&
    isSpoken(next) &&
    Date.parse(next.at) - Date.parse(one.at) <= GROUP_MS
  );
}

function rowOf(entry: Entry, place: Omit<Place, 'key'>): Row {
  const { key, message, send } = entry;
  if (message) return { type: 'message', key, ...place, message };
  return { type: 'pending', key, ...place, send: send as Send };
}
