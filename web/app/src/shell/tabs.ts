/** What the tabs of one browser tell each other about who is signed in. */

import { followToken, isAlone, keptToken } from './kept.ts';

const SIGNED_OUT = 'greenroom.signed-out';

export class Tabs {
  readonly #signedOut: BroadcastChannel;
  readonly #stopFollowing: () => void;
  readonly #returned: (event: PageTransitionEvent) => void;

  /** `handed` has the token of another sign-in, `left` says that the person has signed out. */
  constructor({ handed, left }: { handed: (token: string) => void; left: () => void }) {
    this.#signedOut = new BroadcastChannel(SIGNED_OUT);
    this.#signedOut.onmessage = () => {
      if (!isAlone()) left();
    };
    this.#stopFollowing = followToken((token) => {
      if (!isAlone()) handed(token);
    });
    // A page that the browser had put aside has heard of nothing.
    this.#returned = ({ persisted }) => {
      if (persisted && !keptToken()) left();
    };
    window.addEventListener('pageshow', this.#returned);
  }

  /** Nothing of the person stays in this browser: no other tab may write something again. */
  tellSignedOut(): void {
    this.#signedOut.postMessage(null);
  }

  stop(): void {
    this.#signedOut.close();
    this.#stopFollowing();
    window.removeEventListener('pageshow', this.#returned);
  }
}
