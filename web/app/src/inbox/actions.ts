/** What a person can do with a row, as a menu. */

import type { InboxEdit } from '@greenroom/sdk';

import type { Words } from '../i18n/index.ts';
import type { MenuItem } from '../look/menu.ts';
import type { Row } from './folders.ts';

const HOUR_MS = 3_600_000;
const MUTE_HOURS = [1, 8];
/** Later than anybody reads this. */
const FOR_GOOD = '9999-12-31T00:00:00.000Z';

export interface RowActions {
  edit(label: string, edit: InboxEdit): void;
  markRead(label: string): void;
}

export function rowActions(
  row: Row,
  nowMs: number,
  words: Words['inbox'],
  deeds: RowActions,
): MenuItem[] {
  const { pinned, starred, placement, muted_until } = row.inbox;
  const item = (label: string, icon: NonNullable<MenuItem['icon']>, edit: InboxEdit): MenuItem => ({
    label,
    icon,
    run: () => deeds.edit(label, edit),
  });
  const isMuted = muted_until !== null && Date.parse(muted_until) > nowMs;
  const inHours = (hours: number): string => new Date(nowMs + hours * HOUR_MS).toISOString();
  const mute = MUTE_HOURS.map((hours) =>
    item(words.muteHours(hours), 'muted', { muted_until: inHours(hours) }),
  );
  const archive =
    placement === 'archived'
      ? [item(words.unarchive, 'inbox', { archived: false })]
      : placement === 'inbox'
        ? [item(words.archive, 'archive', { archived: true })]
        : [];
  const read: MenuItem = {
    label: words.markRead,
    icon: 'check',
    run: () => deeds.markRead(words.markRead),
  };
  return [
    ...(row.inbox.unread_count > 0 ? [read] : []),
    item(pinned ? words.unpin : words.pin, 'pin', { pinned: !pinned }),
    item(starred ? words.unstar : words.star, 'star', { starred: !starred }),
    ...(isMuted
      ? [item(words.unmute, 'bell', { muted_until: null })]
      : [...mute, item(words.mute, 'muted', { muted_until: FOR_GOOD })]),
    ...archive,
  ];
}
