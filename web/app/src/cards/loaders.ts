/** Loads what cards need besides themselves: the thread's booking and documents, each once for all
 * cards, and the parts of the web app that open later. */

import type { Docs, Panel } from '@greenroom/sdk';

import type { HistoryWords } from '../i18n/history.ts';
import type { Session } from '../session/session.ts';

const KEPT_MS = 5_000;

interface Kept<T> {
  atMs: number;
  asked: Promise<T>;
}

/** Several elements of a page ask for the same within moments: one request answers them all. */
class Shared<T> {
  readonly #kept = new WeakMap<Session, Map<string, Kept<T>>>();
  readonly #ask: (session: Session, threadId: string) => Promise<T>;

  constructor(ask: (session: Session, threadId: string) => Promise<T>) {
    this.#ask = ask;
  }

  get(session: Session, threadId: string): Promise<T> {
    const known = this.#kept.get(session) ?? new Map<string, Kept<T>>();
    this.#kept.set(session, known);
    const before = known.get(threadId);
    const nowMs = session.clock.now();
    if (before && nowMs - before.atMs < KEPT_MS) return before.asked;
    const asked = this.#ask(session, threadId);
    known.set(threadId, { atMs: nowMs, asked });
    asked.catch(() => known.delete(threadId));
    return asked;
  }

  forget(session: Session, threadId: string): void {
    this.#kept.get(session)?.delete(threadId);
  }
}

export const panels = new Shared<Panel>((session, id) => session.client.rest.panel(id));
export const documents = new Shared<Docs>(
  async (session, id) => (await session.client.rest.panelTab(id, 'docs')).data,
);

/** Forms, histories, files and places are loaded with the first that is needed: most cards are only read. */
export const loadForm = (): Promise<typeof import('./form.ts')> => import('./form.ts');
export const loadHistory = (): Promise<unknown> => import('./history.ts');
export const loadFiles = (): Promise<unknown> => import('./files.ts');
export const loadPlace = (): Promise<unknown> => import('./place.ts');
export const loadHistoryWords = async (locale: string): Promise<HistoryWords> =>
  (await import('../i18n/history.ts')).loadHistoryWords(locale);
