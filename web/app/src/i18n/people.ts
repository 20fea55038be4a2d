/** The words of profile cards and of blocking, which come with them. */

import { people as english } from './en/people.ts';
import { languageOf, type Room } from './index.ts';

export type PeopleWords = Room<typeof english>;

const others: Record<string, () => Promise<PeopleWords>> = {
  de: () => import('./de/people.ts').then(({ people }) => people),
};

/** English where the reader's own cannot be fetched now. */
export async function loadPeopleWords(locale: string): Promise<PeopleWords> {
  const load = others[languageOf(locale)];
  return (await load?.().catch(() => undefined)) ?? english;
}
