/** Where a conversation begins: with whom, and about what. The dialog comes when it is first wanted. */

import type { Session } from '../session/session.ts';

export interface Wish {
  to: string;
  /** The marketplace's own key of what it is about: one conversation for each. */
  listing_key?: string | undefined;
  subject?: string | undefined;
  role_context?: string | undefined;
}

/** `host` has the dialog in it, so that it looks the same. */
export const openStart = async (session: Session, wish: Wish, host?: Element): Promise<void> =>
  (await import('./dialog.ts')).showStart(session, wish, host);
