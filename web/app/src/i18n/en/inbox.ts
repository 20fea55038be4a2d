import type { Folder, Kind, ThreadStage } from '@greenroom/sdk';

import { plurals } from '../plural.ts';

const plural = plurals('en');

const folders: Record<Folder, string> = {
  all: 'All',
  action: 'Needs you',
  bookings: 'Bookings',
  offers: 'Offers',
  requests: 'Requests',
  archived: 'Archived',
  spam: 'Spam',
};

const kinds: Record<Kind, string> = {
  inquiry: 'Inquiry',
  invite: 'Invitation',
  project: 'Booking',
  dispute: 'Dispute',
  support: 'Support',
  system: 'Notices',
};

const states: Record<ThreadStage, string> = {
  open: 'Open',
  awaiting_reply: 'Waiting for a reply',
  pending_decision: 'Decision pending',
  confirmed: 'Confirmed',
  completed: 'Completed',
  disputed: 'Disputed',
  archived: 'Long quiet',
};

/** What an empty folder says: that it is, and what will be there. */
const empty: Record<Folder, { title: string; text: string }> = {
  all: {
    title: 'No messages yet',
    text: 'When you write to somebody, or somebody writes to you, it starts here.',
  },
  action: {
    title: 'Nothing needs you',
    text: 'Questions, prices and documents that wait for your answer will be here.',
  },
  bookings: {
    title: 'No bookings yet',
    text: 'A conversation moves here when its booking is confirmed.',
  },
  offers: {
    title: 'No open offers',
    text: 'Inquiries and invitations are here until they become a booking.',
  },
  requests: {
    title: 'No requests',
    text: 'People who write to you for the first time wait here until you answer.',
  },
  archived: {
    title: 'Nothing archived',
    text: 'Archive what is done. It comes back by itself when somebody writes.',
  },
  spam: {
    title: 'No spam',
    text: 'Requests that you decline end up here.',
  },
};

const notices = {
  joined: (name: string) => `${name} joined the conversation`,
  youJoined: 'You joined the conversation',
  hasLeft: (name: string) => `${name} left the conversation`,
  youLeft: 'You left the conversation',
  removed: (name: string) => `${name} was removed from the conversation`,
  youWereRemoved: 'You were removed from the conversation',
  promoted: 'This conversation is now a booking',
  nextBooking: 'A new booking was proposed here',
  paymentDisputed: 'The buyer disputes a payment with their bank. Payouts wait.',
  paymentDisputeWon: 'The dispute with the bank has ended: the payment stands',
  paymentDisputeLost: 'The dispute with the bank has ended: the payment was taken back',
  disputeEnded: 'The dispute has ended: the work counts as accepted',
  proposed: (what: string) => `Booking proposed: ${what}`,
  confirmed: (price: string | null) =>
    price === null ? 'Booking confirmed' : `Booking confirmed: ${price}`,
  paymentFailed: (price: string | null) =>
    price === null
      ? 'The payment failed. The booking is not confirmed.'
      : `The payment of ${price} failed. The booking is not confirmed.`,
  cancelled: 'The booking was cancelled',
  cancelledBy: (name: string) => `${name} cancelled the booking`,
  youCancelled: 'You cancelled the booking',
  someone: 'Somebody',
  unknown: 'Something changed in this conversation',
};

export const inbox = {
  title: 'Messages',
  folders,
  folderList: 'Folders',
  kinds,
  states,
  empty,
  notices,

  search: 'Search people and subjects',
  clearSearch: 'Clear the search',
  filter: 'Filter',
  filterOn: (count: number) => `Filter, ${count} on`,
  unread: 'Unread',
  starred: 'Starred',
  hasFiles: 'With files',
  kind: 'Kind',
  state: 'State',
  any: 'Any',
  removeFilter: (name: string) => `Remove filter: ${name}`,
  clearAll: 'Clear all',
  conversations: 'Conversations',
  shown: (count: number, isAll: boolean) =>
    isAll
      ? plural(count, { one: '1 conversation', other: `${count} conversations` })
      : `More than ${count} conversations`,

  noResult: 'Nothing found',
  noResultText: (q: string) => `No person or subject here matches “${q}”.`,
  noMatch: 'Nothing matches',
  noMatchText: 'No conversation in this folder fits these filters.',
  clearFilters: 'Clear filters',
  failed: 'Your messages could not be loaded',
  moreFailed: 'The next conversations could not be loaded.',
  stored: 'Shown as last seen on this device.',

  you: (text: string) => `You: ${text}`,
  by: (name: string, text: string) => `${name}: ${text}`,
  draft: 'Draft:',
  typing: (names: readonly string[], list: string) =>
    names.length === 1 ? `${list} is typing…` : `${list} are typing…`,
  deleted: 'Message deleted',
  youDeleted: 'You deleted a message',
  card: 'Sent a card',
  noMessage: 'No message yet',
  nobody: 'Nobody else',

  sent: 'Sent',
  delivered: 'Delivered',
  read: 'Read',
  waiting: 'Waiting to be sent',
  sendFailed: 'Not sent',
  unreadMessages: (count: number) =>
    plural(count, { one: '1 unread message', other: `${count} unread messages` }),
  waitingThreads: (count: number) =>
    plural(count, { one: '1 waits for you', other: `${count} wait for you` }),
  unreadThreads: (count: number) =>
    plural(count, { one: '1 unread conversation', other: `${count} unread conversations` }),
  markRead: 'Mark as read',
  needsYou: 'Needs you',
  booking: 'Booking',
  pinned: 'Pinned',
  muted: 'Muted',
  online: 'Online',

  actions: 'What to do with this conversation',
  actionsFor: (name: string) => `Actions for ${name}`,
  pin: 'Pin',
  unpin: 'Unpin',
  star: 'Star',
  unstar: 'Remove star',
  muteHours: (hours: number) =>
    plural(hours, { one: 'Mute for 1 hour', other: `Mute for ${hours} hours` }),
  mute: 'Mute until I unmute',
  unmute: 'Unmute',
  archive: 'Archive',
  unarchive: 'Move to inbox',
  isArchived: 'Archived.',
  isUnarchived: 'Moved to the inbox.',
  undo: 'Undo',
  notDone: (name: string) => `“${name}” did not work.`,

  live: 'Live',
  connecting: 'Connecting…',
  reconnecting: 'Reconnecting…',
  polling: 'Updates every few seconds',
  offline: 'Offline',
  closed: 'Not connected',
};
