/** One request and its answer: with the person's token, a time limit, and problems as errors. */

import type { Environment } from './environment.js';
import { Problem, type ProblemDocument } from './problem.js';
import type { Tokens } from './tokens.js';

const ANSWER_WITHIN_MS = 15_000;

export interface Request {
  body?: unknown;
  query?: object;
  /** The same key for all attempts at one deed: it happens once. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

export class Http {
  readonly #base: string;
  readonly #tokens: Tokens;
  readonly #environment: Environment;

  constructor(base: string, tokens: Tokens, environment: Environment) {
    this.#base = base;
    this.#tokens = tokens;
    this.#environment = environment;
  }

  async call<T>(method: string, path: string, request: Request = {}): Promise<T> {
    const { clock } = this.#environment;
    const limit = new AbortController();
    const stop = (): void => limit.abort();
    const timer = clock.setTimeout(stop, request.timeoutMs ?? ANSWER_WITHIN_MS);
    request.signal?.addEventListener('abort', stop);
    if (request.signal?.aborted) stop();
    try {
      const answer = await this.open(method, path, { ...request, signal: limit.signal });
      return answer.status === 204 ? (undefined as T) : ((await answer.json()) as T);
    } catch (error) {
      throw Problem.of(error);
    } finally {
      clock.clearTimeout(timer);
      request.signal?.removeEventListener('abort', stop);
    }
  }

  /** An answer to be read as it comes, without a time limit. A 401 is tried once more. */
  async open(method: string, path: string, request: Request = {}): Promise<Response> {
    let answer = await this.#fetch(method, path, request, await this.#tokens.get());
    if (answer.status === 401) {
      answer = await this.#fetch(method, path, request, await this.#tokens.fresh());
    }
    if (!answer.ok) throw await readProblem(answer, this.#environment.clock.now());
    return answer;
  }

  #fetch(method: string, path: string, request: Request, token: string): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    const init: RequestInit = {
      method,
      headers,
      cache: 'no-store',
      signal: request.signal ?? null,
    };
    if (request.idempotencyKey !== undefined) {
      headers['idempotency-key'] = request.idempotencyKey;
    }
    if (request.body !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = JSON.stringify(request.body);
    }
    return this.#environment.fetch(this.#base + path + queryText(request.query), init);
  }
}

export function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

async function readProblem(answer: Response, nowMs: number): Promise<Problem> {
  const said = (await answer.json().catch(() => ({}))) as Partial<ProblemDocument>;
  const status = answer.status;
  const document = {
    code: `HTTP_${status}`,
    title: `The server answered ${status}`,
    ...said,
    status,
  };
  return new Problem(document, readRetryAfterMs(answer.headers.get('retry-after'), nowMs));
}

/** Seconds, or a date. */
function readRetryAfterMs(text: string | null, nowMs: number): number {
  if (!text) return 0;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return waitMs > 0 ? waitMs : 0;
}
