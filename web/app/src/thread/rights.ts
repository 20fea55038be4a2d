/** What a person may do here, as far as a page can tell; the server decides. Pure. */

import type { Message, Thread } from '@greenroom/sdk';

import { personIn } from '../session/people.ts';

export const EDIT_WINDOW_MS = 15 * 60_000;

export function canEdit(message: Message, userId: string, nowMs: number): boolean {
  return canDelete(message, userId) && nowMs - Date.parse(message.created_at) < EDIT_WINDOW_MS;
}

export function canDelete(message: Message, userId: string): boolean {
  return message.author_id === userId && message.kind === 'text' && !message.deleted_at;
}

export function canReplyTo(message: Message): boolean {
  return message.kind !== 'system' && !message.deleted_at;
}

/** Why nobody can write here, or null where the person can. */
export type Closed = 'locked' | 'system' | 'gone' | 'blocked' | 'alone';

export function whyClosed(thread: Thread, userId: string): Closed | null {
  if (thread.kind === 'system') return 'system';
  if (thread.locked) return 'locked';
  const me = personIn(thread, userId);
  if (me && me.status !== 'active') return me.status === 'left' ? 'gone' : 'blocked';
  const others = thread.participants.filter((each) => each.user_id !== userId);
  return others.length > 0 && others.every(({ status }) => status === 'left') ? 'alone' : null;
}
