/** `/embed.js`: one script tag gives a page the elements, and `Greenroom.configure` for its token. */

import './cards/index.ts';
import './inbox/index.ts';
import './panel/index.ts';
import './thread/index.ts';

import { configure, signOut } from './session/session.ts';

declare global {
  interface Window {
    Greenroom?: { configure: typeof configure; signOut: typeof signOut };
  }
}

window.Greenroom = { configure, signOut };

export { configure, signOut };
