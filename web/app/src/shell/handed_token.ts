/** A token that was handed over, by a marketplace or by the sample's sign-in.
 *
 * There is nobody to ask for another one: when the client wants one before the end it is told so,
 * and when the server no longer takes this one, the person has to sign in again. Unless they have
 * done so in another tab. */

import type { Clock, TokenSource } from '@greenroom/sdk';

/** The client asks for a successor at most this long before the end. */
const ASKED_BEFORE_MS = 61_000;

export interface Handed {
  token: string;
  /** Infinity for one that does not say. */
  endsAtMs: number;
}

export interface Handing {
  /** The same person's token that is kept now. */
  kept: () => Handed | null;
  refused: () => void;
}

export function handedToken(
  first: Handed,
  clock: Pick<Clock, 'now'>,
  { kept, refused }: Handing,
): TokenSource {
  let given: Handed | null = null;
  return () => {
    const next = given ? kept() : first;
    if (next && next.token !== given?.token) {
      given = next;
      return next.token;
    }
    const leftMs = (given ?? first).endsAtMs - clock.now();
    const isOnlyEnding = leftMs > 0 && leftMs <= ASKED_BEFORE_MS;
    if (!isOnlyEnding) refused();
    throw new Error('There is no other token.');
  };
}
