/** Threads and rows for tests of the inbox. */

import type { InboxRow, LastMessage, Participant, Thread } from '@greenroom/sdk';

import { Format } from '../src/i18n/format.ts';
import { english } from '../src/i18n/index.ts';
import type { Row } from '../src/inbox/folders.ts';
import type { Speaker } from '../src/session/notices.ts';

export const maya: Speaker = { userId: 'maya', words: english, format: new Format('en', 'UTC') };

export function person(userId: string, name: string, role: Participant['role']): Participant {
  return {
    user_id: userId,
    display_name: name,
    avatar_url: null,
    role,
    status: 'active',
    joined_at: '2026-11-01T09:00:00.000Z',
    last_read: null,
    last_delivered: null,
  };
}

export function thread(id: string, changes: Partial<Thread> = {}): Thread {
  return {
    id,
    kind: 'inquiry',
    state: 'open',
    locked: false,
    subject: 'Lookbook shoot',
    role_context: null,
    job_id: null,
    group_id: null,
    leg_id: null,
    bookings: [],
    city: null,
    safe_mode_required: false,
    request_state: 'none',
    opened_by: 'maya',
    participants: [
      person('maya', 'Maya Lindqvist', 'buyer'),
      person('theo', 'Theo Adeyemi', 'seller'),
    ],
    last_message_at: null,
    last_sender_id: null,
    created_at: '2026-11-01T09:00:00.000Z',
    updated_at: '2026-11-01T09:00:00.000Z',
    ...changes,
  };
}

export function said(preview: string, changes: Partial<LastMessage> = {}): LastMessage {
  return {
    id: 'msg_1',
    author_id: 'theo',
    kind: 'text',
    preview,
    system: null,
    created_at: '2026-11-16T09:00:00.000Z',
    deleted_at: null,
    card_type: null,
    ...changes,
  };
}

/** A row whose last message is of this minute of an hour. */
export function row(
  id: string,
  minute: number,
  inbox: Partial<InboxRow> = {},
  changes: Partial<Thread> = {},
): Row {
  const at = `2026-11-16T09:${String(minute).padStart(2, '0')}:00.000Z`;
  return {
    thread: thread(id, changes),
    inbox: {
      thread_id: id,
      placement: 'inbox',
      state: 'open',
      unread_count: 0,
      needs_action: false,
      badges: [],
      pinned: false,
      starred: false,
      has_files: false,
      muted_until: null,
      last_read: null,
      last_message: said('Hello'),
      last_message_at: at,
      last_sender_id: 'theo',
      ...inbox,
    },
  };
}
