/** The words of places that are shared, which come with the first of them. */

import { place as english } from './en/place.ts';
import { languageOf, type Room } from './index.ts';

export type PlaceWords = Room<typeof english>;

const others: Record<string, () => Promise<PlaceWords>> = {
  de: () => import('./de/place.ts').then(({ place }) => place),
};

/** English where the reader's own cannot be fetched now. */
export async function loadPlaceWords(locale: string): Promise<PlaceWords> {
  const load = others[languageOf(locale)];
  return (await load?.().catch(() => undefined)) ?? english;
}
