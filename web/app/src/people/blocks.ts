/** Whom the person has blocked, as the server tells it page by page. */

import type { Block } from '@greenroom/sdk';

import type { Session } from '../session/session.ts';

/** So many pages are looked through at most. */
const MOST_PAGES = 20;

type Listener = (userId: string, isBlocked: boolean) => void;

const listeners = new Set<Listener>();

/** Told whom the person blocks or unblocks in this page. Returns how to stop. */
export function onBlocks(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function tellBlocks(userId: string, isBlocked: boolean): void {
  for (const listener of listeners) listener(userId, isBlocked);
}

export interface BlocksPage {
  items: Block[];
  next: string | null;
}

export async function blocksAfter(session: Session, cursor: string | null): Promise<BlocksPage> {
  const { items, next_cursor } = await session.client.rest.blocks(cursor ? { cursor } : {});
  return { items, next: next_cursor };
}

/** Which of these people are blocked. */
export async function blockedAmong(
  session: Session,
  userIds: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>();
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES && found.size < userIds.length; page += 1) {
    const { items, next }: BlocksPage = await blocksAfter(session, cursor);
    for (const { user_id } of items) if (userIds.includes(user_id)) found.add(user_id);
    if (!next) break;
    cursor = next;
  }
  return found;
}
