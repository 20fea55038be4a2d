/** Addresses of the pages: what they mean, and how they are written. Pure. */

import { readTab, type TabName } from '../panel/tabs.ts';

export interface Route {
  page: 'inbox' | 'thread' | 'sign-in';
  threadId: string | null;
  folder: string | null;
  /** The panel's tab, or null while the panel is closed. */
  panel: TabName | null;
  /** A direction of text that is forced, to look at it. */
  dir: 'ltr' | 'rtl' | null;
}

export const INBOX: Route = { page: 'inbox', threadId: null, folder: null, panel: null, dir: null };

const THREAD = /^\/app\/threads\/([^/]+)\/?$/u;
const SIGN_IN = /^\/app\/sign-in\/?$/u;

/** An address that means nothing is the inbox. */
export function readRoute({ pathname, searchParams }: URL): Route {
  const threadId = decoded(THREAD.exec(pathname)?.[1]);
  const dir = searchParams.get('dir');
  return {
    page: threadId ? 'thread' : SIGN_IN.test(pathname) ? 'sign-in' : 'inbox',
    threadId,
    folder: searchParams.get('folder'),
    panel: threadId ? readTab(searchParams.get('panel')) : null,
    dir: dir === 'rtl' || dir === 'ltr' ? dir : null,
  };
}

export function addressOf({ page, threadId, folder, panel, dir }: Route): string {
  const query = new URLSearchParams();
  if (folder) query.set('folder', folder);
  if (panel && page === 'thread') query.set('panel', panel);
  if (dir) query.set('dir', dir);
  const text = query.toString();
  return pathOf(page, threadId) + (text && `?${text}`);
}

function pathOf(page: Route['page'], threadId: string | null): string {
  if (page === 'sign-in') return '/app/sign-in';
  return threadId ? `/app/threads/${encodeURIComponent(threadId)}` : '/app';
}

function decoded(text: string | undefined): string | null {
  try {
    return text ? decodeURIComponent(text) : null;
  } catch {
    return null;
  }
}

/** Takes `#token=…` out of an address; the token is null where there is none. */
export function takeToken(address: URL): { token: string | null; rest: string } {
  const values = new URLSearchParams(address.hash.slice(1));
  const token = values.get('token');
  values.delete('token');
  const hash = token === null ? address.hash : values.toString() && `#${values}`;
  return { token: token || null, rest: address.pathname + address.search + hash };
}
