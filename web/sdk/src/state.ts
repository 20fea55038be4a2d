/** What the client knows of the person's threads, and how an event changes it. Pure. */

import type {
  Card,
  FeedEvent,
  InboxRow,
  Mark,
  Message,
  Placement,
  StoredFile,
  Thread,
  ThreadItem,
} from './types.js';

export const MESSAGES_KEPT = 50;
export const THREADS_WITH_MESSAGES = 50;
export const THREADS_KEPT = 500;

export interface Marks {
  readonly delivered?: Mark;
  readonly read?: Mark;
}

export interface ThreadState {
  readonly thread: Thread | null;
  readonly inbox: InboxRow | null;
  /** The last ones, by `seq`. */
  readonly messages: readonly Message[];
  /** How far each person has got. */
  readonly marks: Readonly<Record<string, Marks>>;
}

export interface State {
  /** The thread that changed last is the last one. */
  readonly threads: ReadonlyMap<string, ThreadState>;
}

export const EMPTY: State = { threads: new Map() };
const UNKNOWN: ThreadState = { thread: null, inbox: null, messages: [], marks: {} };

/** The state after an event. Applying an event again changes nothing. */
export function applyEvent(state: State, event: FeedEvent): State {
  if (event.type === 'reset') return EMPTY;
  const id = event.thread_id;
  if (id === undefined) return state;
  if (event.type === 'thread.changed' && !event.thread) return forgetThread(state, id);
  let known = state.threads.get(id) ?? UNKNOWN;
  if (event.thread) known = withThread(known, event.thread);
  if (event.inbox) known = { ...known, inbox: event.inbox };
  if (event.receipt) {
    const { user_id, kind, message_id, at } = event.receipt;
    known = { ...known, marks: advance(known.marks, user_id, kind, { message_id, at }) };
  }
  const isNew = event.type === 'message.new';
  if (event.message) known = withMessages(known, [event.message], isNew);
  if (event.card) known = withCard(known, event.card);
  if (event.file) known = withFile(known, event.file);
  return put(state, id, known, isNew);
}

/** Messages that came as an answer to a request: of each, the latest form that is known stays. */
export function mergeMessages(
  state: State,
  threadId: string,
  messages: readonly Message[],
  add: boolean,
): State {
  const known = state.threads.get(threadId) ?? UNKNOWN;
  return put(state, threadId, withMessages(known, messages, add), add);
}

/**
 * The answer to a send or an edit. One that was made again may be answered with a message of long
 * ago, and what came after that one is not known to be here: only what follows the newest is added.
 */
export function mergeMessage(state: State, message: Message): State {
  const { thread_id: id, seq } = message;
  const newest = state.threads.get(id)?.messages.at(-1);
  return newest ? mergeMessages(state, id, [message], newest.seq < seq) : state;
}

/** The messages, each in the latest form that it has there or in an event. */
export function withForms(
  messages: readonly Message[],
  events: readonly Pick<FeedEvent, 'message' | 'card' | 'file'>[],
): Message[] {
  const byId = new Map(messages.map((each) => [each.id, each]));
  for (const { message, card, file } of events) {
    if (file) for (const [id, each] of byId) byId.set(id, messageWithFile(each, file));
    const shown = byId.get(message?.id ?? card?.message_id ?? '');
    const told = message ?? (shown && card ? { ...shown, card } : undefined);
    if (shown && told && version(shown) <= version(told)) byId.set(told.id, told);
  }
  return [...byId.values()];
}

/** What was stored, and what was answered before it was read: events tell what either misses. */
export function mergeState(stored: State, early: State): State {
  let state = stored;
  for (const [id, { thread, inbox, messages }] of early.threads) {
    if (thread && inbox) state = mergeThreads(state, [{ thread, inbox }], false);
    state = mergeMessages(state, id, messages, true);
  }
  return state;
}

/** A card that came as an answer to a request: its latest form stays. */
export function mergeCard(state: State, card: Card): State {
  const known = state.threads.get(card.thread_id);
  return known ? put(state, card.thread_id, withCard(known, card), false) : state;
}

/** Threads of an inbox page, latest first. What the feed has told is newer and stays (`isFed`). */
export function mergeThreads(state: State, items: readonly ThreadItem[], isFed: boolean): State {
  const threads = new Map<string, ThreadState>();
  for (const { thread, inbox } of [...items].reverse()) {
    const known = state.threads.get(thread.id) ?? UNKNOWN;
    const told = isFed ? known : UNKNOWN;
    const merged = { ...known, inbox: told.inbox ?? inbox };
    threads.set(thread.id, withThread(merged, told.thread ?? thread));
  }
  for (const [id, known] of state.threads) if (!threads.has(id)) threads.set(id, known);
  return { threads: bounded(threads) };
}

/** Rows of a folder as the inbox shows them: pinned first, then the latest. */
export function inboxRows(state: State, placement: Placement = 'inbox'): InboxRow[] {
  const rows = [...state.threads.values()].flatMap(({ inbox }) => inbox ?? []);
  const rank = (row: InboxRow): string => `${row.pinned ? 1 : 0}${row.last_message_at ?? ''}`;
  return rows
    .filter((row) => row.placement === placement)
    .sort((one, other) => (rank(one) < rank(other) ? 1 : -1));
}

/** How far a message has got with everyone else who is in the thread. */
export function progressOf(
  known: Pick<ThreadState, 'thread' | 'marks'>,
  message: Pick<Message, 'id' | 'author_id'>,
): 'sent' | 'delivered' | 'read' {
  const others = (known.thread?.participants ?? []).filter(
    (each) => each.status === 'active' && each.user_id !== message.author_id,
  );
  const all = (kind: 'delivered' | 'read'): boolean =>
    others.length > 0 &&
    others.every(({ user_id }) => (known.marks[user_id]?.[kind]?.message_id ?? '') >= message.id);
  return all('read') ? 'read' : all('delivered') ? 'delivered' : 'sent';
}

function withThread(known: ThreadState, thread: Thread): ThreadState {
  let marks = known.marks;
  for (const each of thread.participants) {
    if (each.last_delivered) marks = advance(marks, each.user_id, 'delivered', each.last_delivered);
    if (each.last_read) marks = advance(marks, each.user_id, 'read', each.last_read);
  }
  return { ...known, thread, marks };
}

/** Marks only move forward; within a thread the ids of messages sort as they were written. */
function advance(
  marks: ThreadState['marks'],
  userId: string,
  kind: keyof Marks,
  mark: Mark,
): ThreadState['marks'] {
  const before = marks[userId] ?? {};
  const isAhead = (before[kind]?.message_id ?? '') < mark.message_id;
  const moved = isAhead ? { ...marks, [userId]: { ...before, [kind]: mark } } : marks;
  // What was read has arrived.
  return kind === 'read' ? advance(moved, userId, 'delivered', mark) : moved;
}

function withMessages(known: ThreadState, messages: readonly Message[], add: boolean): ThreadState {
  const byId = new Map(known.messages.map((each) => [each.id, each]));
  for (const message of messages) {
    const present = byId.get(message.id);
    if (present ? version(present) <= version(message) : add) byId.set(message.id, message);
  }
  const sorted = [...byId.values()].sort((one, other) => one.seq - other.seq);
  return { ...known, messages: sorted.slice(-MESSAGES_KEPT) };
}

/** A card is shown by its message; one that is not among those kept shows nowhere. */
function withCard(known: ThreadState, card: Card): ThreadState {
  const shown = known.messages.find((each) => each.id === card.message_id);
  return shown ? withMessages(known, [{ ...shown, card }], false) : known;
}

function withFile(known: ThreadState, file: StoredFile): ThreadState {
  const messages = known.messages.map((each) => messageWithFile(each, file));
  return { ...known, messages };
}

/** The message with its file as it is now; the same one where the file is none of its own. */
export function messageWithFile(message: Message, file: StoredFile): Message {
  const shown = message.card?.files;
  if (message.card && shown?.some(({ id }) => id === file.id)) {
    const files = shown.map((each) => (each.id === file.id ? file : each));
    return { ...message, card: { ...message.card, files } };
  }
  if (!message.attachments.some(({ file_id }) => file_id === file.id)) return message;
  const { name, mime, bytes, sha256, width, height } = file;
  const attachments = message.attachments.map((each) =>
    each.file_id === file.id
      ? { ...each, name, mime, bytes, sha256, width, height, thumb: thumbOf(file), file }
      : each,
  );
  return { ...message, attachments };
}

function thumbOf({ renditions }: StoredFile): string | null {
  const kinds = ['thumb', 'blurred', 'poster'];
  return renditions.find(({ kind }) => kinds.includes(kind))?.url ?? null;
}

/** Later forms of a message sort later: sent, edited, edited again, deleted. A card has a number. */
function version(message: Message): string {
  if (message.card) return String(message.card.version).padStart(12, '0');
  return message.deleted_at ? `2${message.deleted_at}` : `1${message.edited_at ?? ''}`;
}

function forgetThread(state: State, id: string): State {
  const threads = new Map(state.threads);
  threads.delete(id);
  return { threads };
}

function put(state: State, id: string, known: ThreadState, moveUp: boolean): State {
  const threads = new Map(state.threads);
  if (moveUp) threads.delete(id);
  threads.set(id, known);
  return { threads: bounded(threads) };
}

function bounded(threads: Map<string, ThreadState>): Map<string, ThreadState> {
  let surplus = threads.size - THREADS_KEPT;
  let rank = threads.size;
  for (const [id, known] of threads) {
    if (surplus > 0) threads.delete(id);
    else if (rank > THREADS_WITH_MESSAGES && known.messages.length > 0) {
      threads.set(id, { ...known, messages: [] });
    }
    surplus -= 1;
    rank -= 1;
  }
  return threads;
}
