/** The close codes of connections and what the client does after each; see docs/realtime.md. */

export type Next =
  /** From the cursor, with backoff. */
  | 'return'
  /** With a fresh token. */
  | 'renew'
  /** After a random time up to `RESTART_MS`. */
  | 'spread'
  /** After `TOO_MANY_FRAMES_MS`. */
  | 'calm'
  /** After a random time up to `UNREADABLE_MS`: somebody has to mend the server's data first. */
  | 'mended'
  /** When the person comes back to it. */
  | 'person'
  /** Never. */
  | 'stop';

export const RESTART_MS = 5_000;
export const TOO_MANY_FRAMES_MS = 10_000;
export const UNREADABLE_MS = 60_000;

const NEXT: Readonly<Record<number, Next>> = {
  1012: 'spread',
  1009: 'stop',
  4400: 'stop',
  4401: 'renew',
  4403: 'stop',
  4409: 'person',
  4429: 'calm',
  4500: 'mended',
};

export function afterClose(code: number, reconnect = true): Next {
  return NEXT[code] ?? (reconnect ? 'return' : 'stop');
}
