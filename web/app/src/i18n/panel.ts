/** The words of the panel, which come with it. */

import { panel as english } from './en/panel.ts';
import { languageOf, type Room } from './index.ts';

export type PanelWords = Room<typeof english>;

const others: Record<string, () => Promise<PanelWords>> = {
  de: () => import('./de/panel.ts').then(({ panel }) => panel),
};

/** English where the reader's own cannot be fetched now. */
export async function loadPanelWords(locale: string): Promise<PanelWords> {
  const load = others[languageOf(locale)];
  return (await load?.().catch(() => undefined)) ?? english;
}
