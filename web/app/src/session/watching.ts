/** Of which threads the page wants to know who types and who is online. */

import type { Session } from './session.ts';

/** The server allows a limited number. The open thread comes first, so that it is among them. */
export type Rank = 'thread' | 'inbox';
const ORDER: readonly Rank[] = ['thread', 'inbox'];

interface Wish {
  readonly rank: Rank;
  readonly threadIds: readonly string[];
}

export interface Watching {
  client: Pick<Session['client'], 'watch'>;
}

const wishes = new WeakMap<Watching, Map<object, Wish>>();

/** Replaces what this element wished before; none with an empty list. A page may have several. */
export function watch(
  session: Watching,
  owner: object,
  rank: Rank,
  threadIds: readonly string[],
): void {
  const all = wishes.get(session) ?? new Map<object, Wish>();
  wishes.set(session, all);
  if (threadIds.length > 0) all.set(owner, { rank, threadIds });
  else all.delete(owner);
  const of = (rank: Rank): Wish[] => [...all.values()].filter((each) => each.rank === rank);
  const wanted = new Set(ORDER.flatMap(of).flatMap((wish) => wish.threadIds));
  session.client.watch([...wanted]);
}
