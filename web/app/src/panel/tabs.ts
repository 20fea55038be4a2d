/** The tabs of the panel, in the order in which they stand, and how keys move between them. */

import type { Panel } from '@greenroom/sdk';

export const TABS = [
  'actions',
  'booking',
  'expenses',
  'docs',
  'brief',
  'moodboard',
  'shotlist',
  'files',
] as const;

export type TabName = (typeof TABS)[number];
/** Those whose rooms are not built yet. */
export type LaterTab = 'brief' | 'moodboard' | 'shotlist';
/** Those that are empty until there is a booking. */
export type BookingTab = 'booking' | 'expenses' | 'docs';

const LATER: ReadonlySet<TabName> = new Set(['brief', 'moodboard', 'shotlist']);

export function readTab(text: string | null | undefined): TabName | null {
  return TABS.find((tab) => tab === text) ?? null;
}

export function isLater(tab: TabName): tab is LaterTab {
  return LATER.has(tab);
}

/** How much waits for the viewer behind a tab; 0 where nothing can wait. */
export function countIn(panel: Panel | null, tab: TabName): number {
  return panel?.tabs.find((each) => each.tab === tab)?.count ?? 0;
}

/** The tab to which a key leads, or null for a key that leads nowhere. */
export function tabAfterKey(tab: TabName, key: string, isRtl: boolean): TabName | null {
  const forward = isRtl ? 'ArrowLeft' : 'ArrowRight';
  const backward = isRtl ? 'ArrowRight' : 'ArrowLeft';
  const at = TABS.indexOf(tab);
  const moves: Record<string, number> = {
    [forward]: at + 1,
    [backward]: at - 1 + TABS.length,
    Home: 0,
    End: TABS.length - 1,
  };
  const next = moves[key];
  return next === undefined ? null : (TABS[next % TABS.length] ?? null);
}
