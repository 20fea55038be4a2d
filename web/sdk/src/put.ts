/** One signed request with bytes, and how far it has got. */

import { Problem } from './problem.js';

export interface SignedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
}

export interface Putting {
  signal: AbortSignal;
  /** How many bytes have left so far. */
  progress: (bytes: number) => void;
}

/** Resolves when the bytes have arrived; rejects with a problem. */
export type Put = (request: SignedRequest, bytes: Blob, putting: Putting) => Promise<void>;

/** Gives up when nothing has moved for so long: some networks lose a connection without a word. */
const STALLED_MS = 30_000;
/** The browser sets these itself, and complains of a page that does. */
const FORBIDDEN = new Set(['content-length', 'host']);

/** By XMLHttpRequest: `fetch` does not tell how far an upload has got. */
export const putBlob: Put = (request, bytes, { signal, progress }) =>
  new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    let stalled: ReturnType<typeof setTimeout> | undefined;
    const moved = (): void => {
      clearTimeout(stalled);
      stalled = setTimeout(abort, STALLED_MS);
    };
    const abort = (): void => sending.abort();
    const end = (problem: Problem | null): void => {
      clearTimeout(stalled);
      signal.removeEventListener('abort', abort);
      if (problem) reject(problem);
      else resolve();
    };
    sending.open(request.method, request.url);
    for (const [name, value] of Object.entries(request.headers)) {
      if (!FORBIDDEN.has(name.toLowerCase())) sending.setRequestHeader(name, value);
    }
    sending.upload.onprogress = ({ loaded }) => {
      moved();
      progress(loaded);
    };
    sending.onload = () => end(isWell(sending.status) ? null : refusal(sending.status));
    sending.onerror = sending.onabort = () => end(Problem.unreachable('the upload was cut'));
    signal.addEventListener('abort', abort);
    moved();
    sending.send(bytes);
    if (signal.aborted) abort();
  });

function isWell(status: number): boolean {
  return status >= 200 && status < 300;
}

/** A store in between speaks no problem documents. */
function refusal(status: number): Problem {
  const title = `The store answered ${status}`;
  return new Problem({ status, code: `HTTP_${status}`, title });
}
