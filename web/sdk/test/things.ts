/** Messages, threads and rows to talk about. */

import type {
  Attachment,
  Card,
  FeedEvent,
  InboxRow,
  Message,
  Participant,
  StoredFile,
  Thread,
} from '../src/types.js';

export const AT = '2027-01-15T08:00:00.000Z';

export function messageId(seq: number): string {
  return `msg_${String(seq).padStart(26, '0')}`;
}

export function message(seq: number, more: Partial<Message> = {}): Message {
  return {
    id: messageId(seq),
    thread_id: 'thr_1',
    seq,
    author_id: 'mia',
    kind: 'text',
    body: `number ${seq}`,
    body_html: `<p>number ${seq}</p>`,
    system: null,
    attachments: [],
    reply_to: null,
    created_at: AT,
    edited_at: null,
    deleted_at: null,
    ...more,
  };
}

/** A picture that everybody may see. */
export function file(more: Partial<StoredFile> = {}): StoredFile {
  return {
    id: 'fil_1',
    thread_id: 'thr_1',
    owner_id: 'mia',
    state: 'ready',
    reason: null,
    media: 'image',
    name: 'roof.jpg',
    mime: 'image/jpeg',
    bytes: 1000,
    sha256: null,
    width: 400,
    height: 300,
    duration_ms: null,
    peaks: null,
    alt: null,
    band: 0,
    visibility: 'clear',
    can_reveal: false,
    renditions: [
      { kind: 'thumb', url: '/thumb', mime: 'image/webp', width: 200, height: 150 },
      { kind: 'preview', url: '/preview', mime: 'image/webp', width: 400, height: 300 },
    ],
    created_at: AT,
    expires_at: null,
    ...more,
  };
}

export function attachment(of: StoredFile): Attachment {
  const { id, name, mime, bytes, sha256, width, height } = of;
  const thumb = of.renditions[0]?.url ?? null;
  return {
    kind: 'preview',
    file_id: id,
    name,
    mime,
    bytes,
    sha256,
    width,
    height,
    thumb,
    file: of,
  };
}

/** The card that message number `seq` shows. */
export function card(seq: number, more: Partial<Card> = {}): Card {
  return {
    id: `crd_${seq}`,
    thread_id: 'thr_1',
    message_id: messageId(seq),
    type: 'extras',
    state: 'pending',
    version: 1,
    payload: {},
    totals: {},
    created_by: 'mia',
    buyer: 'ben',
    seller: 'mia',
    group_id: null,
    leg_id: null,
    answers_card: null,
    waits_for: ['ben'],
    expires_at: null,
    created_at: AT,
    updated_at: AT,
    available_actions: [],
    ...more,
  };
}

export function participant(userId: string, more: Partial<Participant> = {}): Participant {
  return {
    user_id: userId,
    display_name: userId,
    avatar_url: null,
    role: 'buyer',
    status: 'active',
    joined_at: AT,
    last_read: null,
    last_delivered: null,
    ...more,
  };
}

export function thread(id = 'thr_1', more: Partial<Thread> = {}): Thread {
  return {
    id,
    kind: 'inquiry',
    state: 'open',
    locked: false,
    subject: null,
    role_context: null,
    job_id: null,
    group_id: null,
    leg_id: null,
    bookings: [],
    city: null,
    safe_mode_required: false,
    request_state: 'none',
    opened_by: 'mia',
    participants: [participant('mia'), participant('ben')],
    last_message_at: AT,
    last_sender_id: 'mia',
    created_at: AT,
    updated_at: AT,
    ...more,
  };
}

export function row(threadId = 'thr_1', more: Partial<InboxRow> = {}): InboxRow {
  return {
    thread_id: threadId,
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
    last_message: null,
    last_message_at: AT,
    last_sender_id: null,
    ...more,
  };
}

/** An event about `thr_1`, unless it says otherwise. */
export function event(type: FeedEvent['type'], more: Partial<FeedEvent> = {}): FeedEvent {
  return { type, cursor: 'e-0', at: AT, thread_id: 'thr_1', ...more };
}
