/** The words of our own pages: sites that only embed the elements do not load them. */

import { shell as english } from './en/shell.ts';
import { languageOf, type Room } from './index.ts';

export type ShellWords = Room<typeof english>;

export const englishShell: ShellWords = english;

const others: Record<string, () => Promise<ShellWords>> = {
  de: () => import('./de/shell.ts').then(({ shell }) => shell),
};

/** English where the reader's own cannot be fetched now. */
export async function loadShellWords(locale: string): Promise<ShellWords> {
  const load = others[languageOf(locale)];
  return (await load?.().catch(() => undefined)) ?? english;
}
