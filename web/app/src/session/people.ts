/** The participants of a thread from the point of view of one of them. */

import type { Participant, Thread } from '@greenroom/sdk';

/** Those beside the viewer who are in the thread; if all have left, those who were. */
export function othersIn(thread: Thread, userId: string): Participant[] {
  const others = thread.participants.filter((each) => each.user_id !== userId);
  const active = others.filter((each) => each.status === 'active');
  return active.length > 0 ? active : others;
}

export function personIn(thread: Thread | null, userId: string | null): Participant | null {
  return thread?.participants.find((each) => each.user_id === userId) ?? null;
}

export function nameOf(person: Participant): string {
  return person.display_name || person.user_id;
}

/** In a sentence or on a phone: the first word of the name. */
export function firstNameOf(person: Participant): string {
  return nameOf(person).trim().split(/\s+/u)[0] ?? person.user_id;
}
