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
/** What everybody may know of a person. */
export type Profile = Schemas['PublicUserView'];
/** Somebody whom the person has blocked. */
export type Block = Schemas['BlockView'];
export type BlocksPage = Schemas['BlocksAnswer'];

export interface PageQuery {
  cursor?: string;
  limit?: number;
}

/** What the server allows, as `GET /v1/limits` answers. */
export type Limits = Schemas['LimitsView'];

export type SystemNotice = Schemas['SystemNotice'];
export type Money = Schemas['MoneyView'];

/** Something that the viewer can do with a card now; `input` is a JSON Schema of what it takes. */
export type CardAction = Schemas['CardActionView'];

/** A card as it is now. Buttons are drawn from `available_actions`, which are the viewer's own. */
export type Card = LeftOut<Schemas['CardView'], 'labels' | 'signers' | 'files'>;

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
export type PaymentConfirmation = Schemas['ConfirmationView'];
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
export type Expenses = Schemas['Expenses'];
export type ExpensesTab = Schemas['ExpensesTab'];
export type LegExpenses = Schemas['LegExpensesView'];
export type Sums = Schemas['SumsView'];
export type Docs = Schemas['Docs'];
export type FilesTab = Schemas['FilesTab'];
export type FilesData = Schemas['FilesData'];
export type Proofs = Schemas['ProofsView'];
export type Finals = Schemas['FinalsView'];
export type DocsTab = Schemas['DocsTab'];
export type DocumentRow = Schemas['DocumentRowView'];
export type Signer = Schemas['SignerView'];

export interface Actions {
  cards: Card[];
}

export interface ActionsTab extends Omit<Schemas['ActionsTab'], 'data'> {
  data: Actions;
}

/** A message that the server has decided on, but that may not be in its thread yet. */
export type MessageOnItsWay = Omit<Schemas['MessageView'], 'card'> & { card?: Card | null };

/** `client_id` is there for its author only. A deleted message keeps its place, empty. */
export type Message = Omit<MessageOnItsWay, 'id' | 'seq'> & { id: string; seq: number };

export type LastMessage = Schemas['LastMessageView'];

/** A file as the person may see it now. Its addresses work for some minutes. */
export type StoredFile = Schemas['FileView'];
export type Rendition = Schemas['RenditionView'];
export type RenditionKind = Rendition['kind'];
export type Media = StoredFile['media'];
/** A file of a message. */
export type Attachment = Schemas['AttachmentView'];
export type FileSummary = Schemas['FileSummaryView'];
export type FilesPage = Schemas['FilesAnswer'];
/** What `POST /v1/uploads` takes; what may be left out has a default. */
export type NewUpload = Pick<Schemas['NewUpload'], 'thread_id' | 'name' | 'mime' | 'bytes'> &
  Partial<Schemas['NewUpload']>;
export type Purpose = Schemas['NewUpload']['purpose'];
/** The requests to make with the bytes, and which of them have arrived. */
export type UploadTicket = Schemas['UploadView'];

/** What a person has chosen for themselves. */
export type Preferences = Schemas['Preferences'];
export type PreferencesEdit = Schemas['PreferenceChanges'];

/** The viewer's own row for a thread. */
export type InboxRow = Schemas['InboxView'];
export type Thread = Schemas['ThreadView'];
export type Receipt = Schemas['ReceiptView'];
export type FeedEventType = Schemas['EventType'];

/** One change. What changed stands under its own noun, whole, as the viewer may see it now. */
export interface FeedEvent extends LeftOut<
  Omit<Schemas['EventView'], 'message' | 'card'>,
  'thread_id' | 'inbox' | 'thread' | 'receipt' | 'file' | 'message_id'
> {
  message?: Message;
  card?: Card;
}

/** Not kept and without a cursor; only for threads that the connection watches. */
export type EphemeralEvent =
  | { type: 'typing'; thread_id: string; user_id: string; on: boolean; at: string }
  | { type: 'presence'; thread_id: string; user_id: string; online: boolean; at: string };

export type ThreadItem = Schemas['ThreadItem'];
/** A person gets all of it; what is left out is so for a backend. */
export type ThreadPage = Required<Schemas['ThreadPage']>;
export type InboxPage = Schemas['InboxAnswer'];

export interface InboxQuery {
  folder?: Folder;
  unread?: boolean;
  starred?: boolean;
  has_files?: boolean;
  kind?: Kind;
  state?: ThreadStage;
  role_context?: string;
  city?: string;
  q?: string;
  cursor?: string;
  limit?: number | undefined;
}

export type InboxEdit = Schemas['InboxEdit'];

export interface MessagesPage extends Omit<Required<Schemas['MessagesAnswer']>, 'items'> {
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

export type NewMessage = Pick<Schemas['NewMessage'], 'client_id'> & Partial<Schemas['NewMessage']>;

export interface SyncPage extends Omit<Schemas['SyncAnswer'], 'events'> {
  events: FeedEvent[];
}
