/** The words of the forms that cards are filled in with, which come with them. */

import { forms as english } from './en/forms.ts';
import { languageOf, type Room } from './index.ts';

export type FormWords = Room<typeof english>;

const others: Record<string, () => Promise<FormWords>> = {
  de: () => import('./de/forms.ts').then(({ forms }) => forms),
};

/** English where the reader's own cannot be fetched now. */
export async function loadFormWords(locale: string): Promise<FormWords> {
  const load = others[languageOf(locale)];
  return (await load?.().catch(() => undefined)) ?? english;
}
