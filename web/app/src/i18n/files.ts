/** The words of files, which come with the first of them. */

import { files as english } from './en/files.ts';
import { languageOf, type Room } from './index.ts';

export type FileWords = Room<typeof english>;

const others: Record<string, () => Promise<FileWords>> = {
  de: () => import('./de/files.ts').then(({ files }) => files),
};

/** English where the reader's own cannot be fetched now. */
export async function loadFileWords(locale: string): Promise<FileWords> {
  const load = others[languageOf(locale)];
  return (await load?.().catch(() => undefined)) ?? english;
}

export { english as englishFiles };
