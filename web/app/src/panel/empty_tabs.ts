/** Tabs with nothing in them yet: what will be there, said honestly. */

import type { TemplateResult } from 'lit';

import { TAB_ICONS } from './tab_icons.ts';
import type { BookingTab, LaterTab } from './tabs.ts';
import { empty, type View } from './view.ts';

export function laterTab({ words }: View, tab: LaterTab): TemplateResult {
  return empty(TAB_ICONS[tab], words.later, words.laterHints[tab], words.untilThen);
}

export function beforeBooking({ words }: View, tab: BookingTab): TemplateResult {
  return empty(TAB_ICONS[tab], words.noBooking, words.noBookingHints[tab]);
}
