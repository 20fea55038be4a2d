import type { IconName } from '../look/icons.ts';
import type { TabName } from './tabs.ts';

export const TAB_ICONS: Record<TabName, IconName> = {
  actions: 'bell',
  booking: 'calendar',
  expenses: 'money',
  docs: 'document',
  brief: 'brief',
  moodboard: 'board',
  shotlist: 'list',
  files: 'files',
};
