/** What a person may do here, as far as a page can tell; the server decides. Pure. */

import type { Limits, Message, Thread } from '@greenroom/sdk';

import { personIn } from '../session/people.ts';

/** Who looks at a message, when, and what the server allows as far as it is known. */
export interface Editor {
  readonly userId: string;
  readonly nowMs: number;
  readonly limits: Pick<Limits, 'edit_window_s'> | null | undefined;
}

export function canEdit(message: Message, { userId, nowMs, limits }: Editor): boolean {
  const ageMs = nowMs - Date.parse(message.created_at);
  const hasWords = message.kind === 'text' || canHaveCaption(message);
  return (
    hasWords && canDelete(message, userId) && !(ageMs >= 1000 * (limits?.edit_window_s ?? Infinity))
  );
}

/** Files have words to them; a voice message is words. */
function canHaveCaption({ kind, body, attachments }: Message): boolean {
  const isVoice = attachments.every(({ file }) => file.media === 'audio');
  return kind === 'asset' && (body !== '' || !isVoice);
}

export function canDelete(message: Message, userId: string): boolean {
  const isOwn = message.author_id === userId && !message.deleted_at;
  return isOwn && (message.kind === 'text' || message.kind === 'asset');
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
