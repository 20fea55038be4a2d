/** Time, chance and the network, all given from outside, so that tests hold them in their hands. */

export interface Clock {
  now(): number;
  setTimeout(run: () => void, delayMs: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** As much of a browser's WebSocket as is used here. */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
  onerror: (() => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

export type SocketConstructor = new (url: string) => Socket;

export interface Environment {
  clock: Clock;
  /** A number from 0 up to, but not including, 1. */
  random: () => number;
  randomId: () => string;
  fetch: typeof fetch;
  /** Missing where there is none, such as in Node 20: the other transports serve. */
  WebSocket: SocketConstructor | undefined;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, delayMs) => setTimeout(run, delayMs),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** Pages that are not served securely have no `randomUUID`. */
function randomId(): string {
  if ('randomUUID' in crypto) return crypto.randomUUID();
  return [...(crypto as Crypto).getRandomValues(new Uint32Array(4))]
    .map((part) => part.toString(36))
    .join('-');
}

export function systemEnvironment(): Environment {
  return {
    clock: systemClock,
    random: Math.random,
    randomId,
    fetch: (input, init) => fetch(input, init),
    WebSocket: globalThis.WebSocket as unknown as SocketConstructor | undefined,
  };
}

/** A wait that can be cut short: by its signal, or by `wake`. */
export class Nap {
  readonly #clock: Clock;
  #end = (): void => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Infinity waits for the signal or `wake` alone. */
  sleep(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        if (timer !== undefined) this.#clock.clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = waitMs === Infinity ? undefined : this.#clock.setTimeout(end, waitMs);
      signal.addEventListener('abort', end);
      this.#end = end;
      if (signal.aborted) end();
    });
  }

  wake(): void {
    this.#end();
  }
}
