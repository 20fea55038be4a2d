/** `/embed.js`: one script tag gives a page the elements, and `Greenroom.configure` for its token. */

import './inbox/index.ts';
import './messages/index.ts';
import './panel/index.ts';
import './start/element.ts';
import './thread/index.ts';

import { configure, currentSession, signOut } from './session/session.ts';
import { openStart, type Wish } from './start/opening.ts';

declare global {
  interface Window {
    Greenroom?: { configure: typeof configure; signOut: typeof signOut; start: typeof start };
  }
}

/** For a page's own button: shows the dialog that writes the first message to somebody. */
async function start(wish: Wish): Promise<void> {
  const session = currentSession();
  if (!session) throw new Error('Nobody is signed in');
  await openStart(session, wish);
}

window.Greenroom = { configure, signOut, start };

export { configure, signOut, start };
