/** What people did with cards, in words that come with the first history. */

import { history as english } from './en/history.ts';
import { languageOf, type Room } from './index.ts';

export type HistoryWords = Room<typeof english>;

const others: Record<string, () => Promise<HistoryWords>> = {
  de: () => import('./de/history.ts').then(({ history }) => history),
};

/** English where the reader's own cannot be fetched now. */
export async function loadHistoryWords(locale: string): Promise<HistoryWords> {
  const load = others[languageOf(locale)];
  return (await load?.().catch(() => undefined)) ?? english;
}
