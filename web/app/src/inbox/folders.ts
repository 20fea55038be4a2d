/** Which rows belong to a view of the inbox, and in which order: as the server decides it. Pure. */

import type { Folder, InboxQuery, InboxRow, Kind, Placement, Thread } from '@greenroom/sdk';

/** One line of the list: a thread, and the viewer's own row for it. */
export interface Row {
  readonly thread: Thread;
  readonly inbox: InboxRow;
}

/** What the list shows: a folder, narrowed by filters and a search. */
export type View = Omit<InboxQuery, 'cursor' | 'limit'> & { folder: Folder };

export const FOLDERS: readonly Folder[] = [
  'all',
  'action',
  'bookings',
  'offers',
  'requests',
  'archived',
  'spam',
];

const PLACEMENTS: Partial<Record<Folder, Placement>> = {
  requests: 'requests',
  archived: 'archived',
  spam: 'spam',
};

const KINDS: Partial<Record<Folder, readonly Kind[]>> = {
  bookings: ['project'],
  offers: ['inquiry', 'invite'],
};

export function isInFolder({ thread, inbox }: Row, folder: Folder): boolean {
  if (inbox.placement !== (PLACEMENTS[folder] ?? 'inbox')) return false;
  if (folder === 'action') return inbox.needs_action;
  return KINDS[folder]?.includes(thread.kind) ?? true;
}

/** Whether a row belongs to a view; `unsure` where only the server can tell, which is a search. */
export function belongs(row: Row, view: View): boolean | 'unsure' {
  const { thread, inbox } = row;
  const wanted: [unknown, unknown][] = [
    [view.unread, inbox.unread_count > 0],
    [view.starred, inbox.starred],
    [view.has_files, inbox.has_files],
    [view.kind, thread.kind],
    [view.state, inbox.state],
    [view.role_context, thread.role_context],
    [view.city, thread.city],
  ];
  const fits = wanted.every(([asked, there]) => asked === undefined || asked === there);
  if (!fits || !isInFolder(row, view.folder)) return false;
  return view.q === undefined ? true : 'unsure';
}

/** About what the server's search would say: it looks at the subject and the others' names. */
export function isNamed({ thread }: Row, q: string, viewer: string): boolean {
  const others = thread.participants.filter((each) => each.user_id !== viewer);
  const texts = [thread.subject ?? '', ...others.map((each) => each.display_name)];
  return texts.some((text) => text.toLowerCase().includes(q.toLowerCase()));
}

/** Pinned first, then the latest, then by id: below zero if `one` stands above `other`. */
export function compareRows(one: Row, other: Row): number {
  if (one.inbox.pinned !== other.inbox.pinned) return one.inbox.pinned ? -1 : 1;
  const byTime = descending(activityOf(one), activityOf(other));
  return byTime || descending(one.thread.id, other.thread.id);
}

/** The folders whose number has this thread: while it is unread; in `action` while it waits. */
export function countedIn(row: Row): readonly Folder[] {
  const counts = (folder: Folder): boolean => folder === 'action' || row.inbox.unread_count > 0;
  return FOLDERS.filter((folder) => isInFolder(row, folder) && counts(folder));
}

function activityOf({ thread, inbox }: Row): string {
  return inbox.last_message_at ?? thread.created_at;
}

function descending(one: string, other: string): number {
  return one < other ? 1 : one > other ? -1 : 0;
}
