/** The words of the dialog that begins a conversation, which come with it. */

import { start as english } from './en/start.ts';
import { languageOf, type Room } from './index.ts';

export type StartWords = Room<typeof english>;

export const englishStart: StartWords = english;

const others: Record<string, () => Promise<StartWords>> = {
  de: () => import('./de/start.ts').then(({ start }) => start),
};

/** English where the reader's own cannot be fetched now. */
export async function loadStartWords(locale: string): Promise<StartWords> {
  const load = others[languageOf(locale)];
  return (await load?.().catch(() => undefined)) ?? english;
}
