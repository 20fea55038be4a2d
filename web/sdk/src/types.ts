/** What the server says, as JSON: the names of its API, so snake_case. */

export type Placement = 'inbox' | 'requests' | 'archived' | 'spam';
export type Kind = 'inquiry' | 'invite' | 'project' | 'dispute' | 'support' | 'system';
export type ThreadStage =
  | 'open'
  | 'awaiting_reply'
  | 'pending_decision'
  | 'confirmed'
  | 'completed'
  | 'disputed'
  | 'archived';
export type Badge = 'action' | 'booking' | 'muted';
export type Role = 'buyer' | 'seller' | 'host' | 'support' | 'admin';
export type MessageKind = 'text' | 'asset' | 'card' | 'system';
export type Folder = 'all' | 'action' | 'bookings' | 'offers' | 'requests' | 'archived' | 'spam';

/** How far someone has got: up to this message. */
export interface Mark {
  message_id: string;
  at: string;
}

export interface Participant {
  user_id: string;
  display_name: string;
  avatar_url: string | null;
  role: Role;
  status: 'active' | 'left' | 'blocked';
  joined_at: string;
  last_read: Mark | null;
  last_delivered: Mark | null;
}

export interface SystemNotice {
  code: string;
  params: Record<string, unknown>;
}

/** Something that the viewer can do with a card now; `input` is a JSON Schema of what it takes. */
export interface CardAction {
  action: string;
  label: string;
  style: 'primary' | 'secondary' | 'danger';
  input: Record<string, unknown> | null;
}

/** A card as it is now. Buttons are drawn from `available_actions`, which are the viewer's own. */
export interface Card {
  id: string;
  thread_id: string;
  message_id: string | null;
  type: string;
  state: string;
  version: number;
  payload: Record<string, unknown>;
  totals: Record<string, unknown>;
  created_by: string;
  buyer: string | null;
  seller: string | null;
  group_id: string | null;
  leg_id: string | null;
  answers_card: string | null;
  waits_for: string[];
  expires_at: string | null;
  created_at: string;
  updated_at: string;
  available_actions: CardAction[];
  labels?: { title: string; state: string };
  signers?: Record<string, unknown>[];
}

/** `client_id` is there for its author only. A deleted message keeps its place, empty. */
export interface Message {
  id: string;
  thread_id: string;
  seq: number;
  author_id: string | null;
  kind: MessageKind;
  body: string;
  body_html: string;
  system: SystemNotice | null;
  reply_to: string | null;
  created_at: string;
  edited_at: string | null;
  deleted_at: string | null;
  card?: Card | null;
  client_id?: string;
}

export interface LastMessage {
  id: string;
  author_id: string | null;
  kind: MessageKind;
  preview: string;
  system: SystemNotice | null;
  created_at: string;
  deleted_at: string | null;
  card_type?: string | null;
}

/** The viewer's own row for a thread. */
export interface InboxRow {
  thread_id: string;
  placement: Placement;
  state: ThreadStage;
  unread_count: number;
  needs_action: boolean;
  badges: Badge[];
  pinned: boolean;
  starred: boolean;
  muted_until: string | null;
  last_read: Mark | null;
  last_message: LastMessage | null;
  last_message_at: string | null;
  last_sender_id: string | null;
}

export interface Thread {
  id: string;
  kind: Kind;
  state: ThreadStage;
  locked: boolean;
  subject: string | null;
  role_context: string | null;
  job_id: string | null;
  group_id: string | null;
  leg_id: string | null;
  city: string | null;
  safe_mode_required: boolean;
  request_state: 'none' | 'pending' | 'accepted' | 'declined';
  opened_by: string;
  participants: Participant[];
  last_message_at: string | null;
  last_sender_id: string | null;
  created_at: string;
  updated_at: string;
}

export interface Receipt {
  user_id: string;
  kind: 'delivered' | 'read';
  message_id: string;
  seq: number | null;
  at: string;
}

export type FeedEventType =
  | 'message.new'
  | 'message.edited'
  | 'message.deleted'
  | 'card.changed'
  | 'receipt'
  | 'thread.changed'
  | 'inbox.changed'
  | 'reset';

/** One change. What changed stands under its own noun, whole, as the viewer may see it now. */
export interface FeedEvent {
  type: FeedEventType;
  cursor: string;
  at: string;
  thread_id?: string;
  message?: Message;
  card?: Card;
  inbox?: InboxRow;
  thread?: Thread;
  receipt?: Receipt;
}

/** Not kept and without a cursor; only for threads that the connection watches. */
export type EphemeralEvent =
  | { type: 'typing'; thread_id: string; user_id: string; on: boolean; at: string }
  | { type: 'presence'; thread_id: string; user_id: string; online: boolean; at: string };

export interface ThreadItem {
  thread: Thread;
  inbox: InboxRow;
}

export interface ThreadPage extends ThreadItem {
  sync_cursor: string;
}

export interface InboxPage {
  items: ThreadItem[];
  next_cursor: string | null;
  counts: Record<Folder, number>;
  sync_cursor: string;
}

export interface InboxQuery {
  folder?: Folder;
  unread?: boolean;
  starred?: boolean;
  kind?: Kind;
  state?: ThreadStage;
  role_context?: string;
  city?: string;
  q?: string;
  cursor?: string;
  limit?: number;
}

export interface InboxEdit {
  archived?: boolean;
  pinned?: boolean;
  starred?: boolean;
  muted_until?: string | null;
}

export interface MessagesPage {
  items: Message[];
  has_more: boolean;
  sync_cursor: string;
}

export interface MessagesQuery {
  before?: string;
  after?: string;
  limit?: number;
}

export interface NewThread {
  kind: 'inquiry' | 'invite';
  to: string | string[];
  first_message: { client_id: string; body: string };
  role_context?: string;
  subject?: string;
  job_id?: string;
}

export interface ThreadStarted {
  thread: Thread;
  message: Message;
  request: null;
}

export interface NewMessage {
  client_id: string;
  body: string;
  reply_to?: string;
}

export interface SyncPage {
  events: FeedEvent[];
  cursor: string;
  has_more: boolean;
}
