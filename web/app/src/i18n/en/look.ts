import type { Media } from '@greenroom/sdk';

import { type Forms, plurals } from '../plural.ts';

const plural = plurals('en');

const files: Record<Media, (count: number) => Forms> = {
  image: (count) => ({ one: 'Photo', other: `${count} photos` }),
  video: (count) => ({ one: 'Video', other: `${count} videos` }),
  audio: (count) => ({ one: 'Voice message', other: `${count} voice messages` }),
  pdf: (count) => ({ one: 'Document', other: `${count} documents` }),
  other: (count) => ({ one: 'File', other: `${count} files` }),
};

export const look = {
  files: (media: Media, count: number) => plural(count, files[media](count)),
  close: 'Close',
  cancel: 'Cancel',
  retry: 'Try again',
  loading: 'Loading…',
  message: 'Message',
  notSignedIn: 'You are not signed in here. Sign in, and your messages appear.',
  signedOut: 'You are signed out',
  signedOutText: 'Sign in, and your messages appear here.',
  unreachable: 'The server does not answer. Check your connection and try again.',
};
