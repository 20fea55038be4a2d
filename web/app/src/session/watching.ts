/** Which threads the page wants to know company of: who types there, and who is there. */

import type { Session } from './session.ts';

/** As many as the client takes. */
const MOST = 50;

/** The open thread is never crowded out by those of the list. */
export type Watcher = 'thread' | 'inbox';
const ORDER: readonly Watcher[] = ['thread', 'inbox'];

export type Watching = { client: Pick<Session['client'], 'watch'> };

const wishes = new WeakMap<Watching, Map<Watcher, readonly string[]>>();

/** Replaces what this one wished before; none with an empty list. */
export function watch(session: Watching, owner: Watcher, threadIds: readonly string[]): void {
  const all = wishes.get(session) ?? new Map<Watcher, readonly string[]>();
  wishes.set(session, all);
  all.set(owner, threadIds);
  const wanted = new Set(ORDER.flatMap((each) => all.get(each) ?? []));
  session.client.watch([...wanted].slice(0, MOST));
}
