/** A token that was handed over once, by a marketplace or by the sample's sign-in.
 *
 * There is nobody to ask for another one: when the client wants one before the end it is told so,
 * and when the server no longer takes this one, the person has to sign in again. */

import type { Clock, TokenSource } from '@greenroom/sdk';

/** The client asks for a successor at most this long before the end. */
const ASKED_BEFORE_MS = 61_000;

export interface Handed {
  token: string;
  /** Infinity for one that does not say. */
  endsAtMs: number;
}

export function handedToken(
  { token, endsAtMs }: Handed,
  clock: Pick<Clock, 'now'>,
  refused: () => void,
): TokenSource {
  let isGiven = false;
  return () => {
    if (!isGiven) {
      isGiven = true;
      return token;
    }
    const leftMs = endsAtMs - clock.now();
    const isOnlyEnding = leftMs > 0 && leftMs <= ASKED_BEFORE_MS;
    if (!isOnlyEnding) refused();
    throw new Error('There is no other token.');
  };
}
