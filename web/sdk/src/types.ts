/** What the server says, as JSON: the names of its API, so snake_case.
 *
 * Nearly all of it is generated from the server's own document (openapi.ts, by `make types`); here
 * are the names that pages use, and the little that the document does not say. */

import type { components } from './openapi.js';

export type Schemas = components['schemas'];

/** Fields that are left out where they would be null. */
type LeftOut<T, Names extends keyof T> = Omit<T, Names> & {
  [Name in Names]?: NonNullable<T[Name]>;
};

export type Placement = InboxRow['placement'];
export type Kind = Thread['kind'];
export type ThreadStage = Thread['state'];
export type Badge = InboxRow['badges'][number];
export type Role = Participant['role'];
export type MessageKind = Message['kind'];
export type Folder = keyof Schemas['InboxCounts'];

/** How far someone has got: up to this message. */
export type Mark = Schemas['ReadMarkView'];
export type Participant = Schemas['ParticipantView'];
export type User = Schemas['UserView'];
export type SystemNotice = Schemas['SystemNotice'];
export type Money = Schemas['MoneyView'];

/** Something that the viewer can do with a card now; `input` is a JSON Schema of what it takes. */
export type CardAction = Schemas['CardActionView'];

/** A card as it is now. Buttons are drawn from `available_actions`, which are the viewer's own. */
export type Card = LeftOut<Schemas['CardView'], 'labels' | 'signers'>;

/** One transition of a card; the first has no `from`. */
export type CardHistory = Schemas['HistoryView'];

export interface CardWithHistory {
  card: Card;
  history: CardHistory[];
}

/** `message.id` and `message.seq` are null until the message is in the thread. */
export interface CardMade {
  card: Card;
  message: MessageOnItsWay;
}

export type NewCard = Schemas['NewCard'];

/** What a type of cards is, in one language: its schema, states and transitions. */
export type CardType = Schemas['CardTypeView'];
export type CardTypeState = Schemas['StateView'];
export type CardTransition = Schemas['TransitionView'];
export type CardTimer = Schemas['TimerView'];
export type Catalogue = Schemas['CatalogueView'];

export type Booking = Schemas['BookingView'];
export type Leg = Schemas['LegView'];
export type Deposit = Schemas['DepositView'];
/** What the buyer would get back by cancelling now. */
export type CancellationQuote = Schemas['QuoteView'];

/** Files that lie elsewhere, listed once and never changed. */
export type Manifest = Schemas['ManifestView'];
export type ManifestItem = Schemas['ManifestItem'];
export type NewManifest = Schemas['NewManifest'];

/** What the panel opens with. */
export type Panel = Schemas['PanelView'];
export type PanelTab = Schemas['TabView'];
export type PanelTabName = PanelTab['tab'];
export type PanelTimer = Schemas['UpcomingView'];
export type ExpensesTab = Schemas['ExpensesTab'];
export type LegExpenses = Schemas['LegExpensesView'];
export type Sums = Schemas['SumView'];
export type DocsTab = Schemas['DocsTab'];
export type DocumentRow = Schemas['DocumentRowView'];
export type Signer = Schemas['SignerView'];

export interface ActionsTab extends Omit<Schemas['ActionsTab'], 'cards'> {
  cards: Card[];
}

/** A message that the server has decided on, but that may not be in its thread yet. */
export type MessageOnItsWay = Omit<Schemas['MessageView'], 'card'> & { card?: Card | null };

/** `client_id` is there for its author only. A deleted message keeps its place, empty. */
export type Message = Omit<MessageOnItsWay, 'id' | 'seq'> & { id: string; seq: number };

export type LastMessage = Schemas['LastMessageView'];

/** The viewer's own row for a thread. */
export type InboxRow = Schemas['InboxView'];
export type Thread = Schemas['ThreadView'];
export type Receipt = Schemas['ReceiptView'];
export type FeedEventType = Schemas['EventType'];

/** One change. What changed stands under its own noun, whole, as the viewer may see it now. */
export interface FeedEvent extends LeftOut<
  Omit<Schemas['EventView'], 'message' | 'card'>,
  'thread_id' | 'inbox' | 'thread' | 'receipt'
> {
  message?: Message;
  card?: Card;
}

/** Not kept and without a cursor; only for threads that the connection watches. */
export type EphemeralEvent =
  | { type: 'typing'; thread_id: string; user_id: string; on: boolean; at: string }
  | { type: 'presence'; thread_id: string; user_id: string; online: boolean; at: string };

export type ThreadItem = Schemas['ThreadItem'];
export type ThreadPage = Schemas['ThreadPage'];
export type InboxPage = Schemas['InboxAnswer'];

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

export type InboxEdit = Schemas['InboxEdit'];

export interface MessagesPage extends Omit<Schemas['MessagesAnswer'], 'items'> {
  items: Message[];
}

export interface MessagesQuery {
  before?: string;
  after?: string;
  limit?: number;
}

export type NewThread = Schemas['NewThread'];

export interface ThreadStarted extends Omit<Schemas['ThreadStarted'], 'message'> {
  message: Message;
}

export type NewMessage = Schemas['NewMessage'];

export interface SyncPage extends Omit<Schemas['SyncAnswer'], 'events'> {
  events: FeedEvent[];
}
