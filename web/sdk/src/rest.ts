/** The calls that a page makes. Each is one request; none is repeated behind the caller's back. */

import type { Asking, Merger } from './feed.js';
import type { Http } from './http.js';
import type {
  ActionsTab,
  BlocksPage,
  Booking,
  Card,
  CardMade,
  CardWithHistory,
  Catalogue,
  DocsTab,
  ExpensesTab,
  FilesTab,
  InboxEdit,
  InboxPage,
  InboxQuery,
  InboxRow,
  Limits,
  Manifest,
  Message,
  MessagesPage,
  MessagesQuery,
  NewManifest,
  PaymentConfirmation,
  NewMessage,
  NewThread,
  PageQuery,
  Panel,
  Preferences,
  PreferencesEdit,
  Profile,
  ThreadPage,
  ThreadStarted,
  User,
} from './types.js';
import { MESSAGES_KEPT } from './state.js';

export interface Presence {
  user_id: string;
  online: boolean;
  typing: boolean;
}

/** The tabs that the server fills; the others come with their rooms. */
export interface PanelTabs {
  actions: ActionsTab;
  docs: DocsTab;
  files: FilesTab;
  expenses: ExpensesTab;
}

export class Rest {
  readonly #http: Http;
  readonly #merger: (asking: Asking) => Merger;

  /** What is answered becomes part of the state, except rows that the feed tells better. */
  constructor(http: Http, merger: (asking: Asking) => Merger) {
    this.#http = http;
    this.#merger = merger;
  }

  inbox(query: InboxQuery = {}): Promise<InboxPage> {
    return this.#merging('inbox', async (merger) => {
      const page = await this.#http.call<InboxPage>('GET', '/v1/inbox', { query });
      merger.threads(page.items, page.sync_cursor);
      return page;
    });
  }

  thread(threadId: string): Promise<ThreadPage> {
    return this.#merging({ threadId }, async (merger) => {
      const page = await this.#http.call<ThreadPage>('GET', threadPath(threadId));
      merger.threads([page], page.sync_cursor);
      return page;
    });
  }

  /** The newest page by default; that one is kept. */
  messages(threadId: string, query: MessagesQuery = {}): Promise<MessagesPage> {
    const { before, after, limit = MESSAGES_KEPT } = query;
    const isNewest = before === undefined && after === undefined && limit >= MESSAGES_KEPT;
    return this.#merging({ threadId }, async (merger) => {
      const path = threadPath(threadId, '/messages');
      const page = await this.#http.call<MessagesPage>('GET', path, { query });
      return merger.messages(threadId, page, isNewest);
    });
  }

  /** A repeat with the same `client_id` answers with the thread that the first one started. With a
   * `listing_key`, a thread that the person began with this recipient under it gets the message. */
  startThread(body: NewThread): Promise<ThreadStarted> {
    return this.#http.call('POST', '/v1/threads', { body });
  }

  send(threadId: string, body: NewMessage): Promise<Message> {
    return this.#http.call('POST', threadPath(threadId, '/messages'), { body });
  }

  edit(threadId: string, messageId: string, body: string): Promise<Message> {
    return this.#changeMessage('PATCH', threadId, messageId, { body });
  }

  delete(threadId: string, messageId: string): Promise<Message> {
    return this.#changeMessage('DELETE', threadId, messageId);
  }

  async read(threadId: string, upTo: string): Promise<InboxRow> {
    const body = { up_to: upTo };
    return (
      await this.#http.call<{ inbox: InboxRow }>('POST', threadPath(threadId, '/read'), { body })
    ).inbox;
  }

  async patchMe(threadId: string, body: InboxEdit): Promise<InboxRow> {
    return (
      await this.#http.call<{ inbox: InboxRow }>('PATCH', threadPath(threadId, '/me'), { body })
    ).inbox;
  }

  presence(threadId: string): Promise<{ items: Presence[] }> {
    return this.#http.call('GET', threadPath(threadId, '/presence'));
  }

  typing(threadId: string, on: boolean): Promise<void> {
    return this.#http.call('PUT', threadPath(threadId, '/typing'), { body: { on } });
  }

  async me(): Promise<User> {
    return (await this.#http.call<{ user: User }>('GET', '/v1/me')).user;
  }

  async limits(): Promise<Limits> {
    return (await this.#http.call<{ limits: Limits }>('GET', '/v1/limits')).limits;
  }

  async preferences(): Promise<Preferences> {
    return (await this.#http.call<{ preferences: Preferences }>('GET', '/v1/me/preferences'))
      .preferences;
  }

  /** What is not named stays as it is. */
  async setPreferences(preferences: PreferencesEdit): Promise<Preferences> {
    const request = { body: { preferences } };
    return (
      await this.#http.call<{ preferences: Preferences }>('PUT', '/v1/me/preferences', request)
    ).preferences;
  }

  /** The card types with their labels in the person's language. */
  catalogue(locale?: string): Promise<Catalogue> {
    return this.#http.call('GET', '/v1/cards/catalogue', { query: { locale } });
  }

  card(cardId: string): Promise<CardWithHistory> {
    return this.#http.call('GET', cardPath(cardId));
  }

  /** `key` names the attempt: repeat it with the same key until it is answered. */
  createCard(threadId: string, type: string, payload: object, key: string): Promise<CardMade> {
    const request = { body: { type, payload }, idempotencyKey: key };
    return this.#http.call('POST', threadPath(threadId, '/cards'), request);
  }

  /** `input` holds what the action takes besides the version that the person saw. */
  actOnCard(card: Card, action: string, input: object, key: string): Promise<Card> {
    const path = cardPath(card.id, `/${encodeURIComponent(action)}`);
    const request = { body: { version: card.version, ...input }, idempotencyKey: key };
    return this.#merging(null, async (merger) => {
      const answer = await this.#http.call<{ card: Card }>('POST', path, request);
      merger.card(answer.card);
      return answer.card;
    });
  }

  /** What the payer's page needs to confirm a payment with their bank; only for the payer. */
  async paymentConfirmation(paymentId: string): Promise<PaymentConfirmation> {
    const path = `/v1/payments/${encodeURIComponent(paymentId)}/confirmation`;
    return (await this.#http.call<{ confirmation: PaymentConfirmation }>('GET', path)).confirmation;
  }

  async manifest(manifestId: string): Promise<Manifest> {
    const path = `/v1/manifests/${encodeURIComponent(manifestId)}`;
    return (await this.#http.call<{ manifest: Manifest }>('GET', path)).manifest;
  }

  /** Those of a thread, the newest first. */
  async manifests(threadId: string): Promise<Manifest[]> {
    const path = threadPath(threadId, '/manifests');
    return (await this.#http.call<{ items: Manifest[] }>('GET', path)).items;
  }

  /** Lists files that lie elsewhere, for a card to deliver. */
  async addManifest(threadId: string, body: NewManifest, key: string): Promise<Manifest> {
    const path = threadPath(threadId, '/manifests');
    const request = { body, idempotencyKey: key };
    return (await this.#http.call<{ manifest: Manifest }>('POST', path, request)).manifest;
  }

  async panel(threadId: string): Promise<Panel> {
    const path = threadPath(threadId, '/panel');
    return (await this.#http.call<{ panel: Panel }>('GET', path)).panel;
  }

  panelTab<Tab extends keyof PanelTabs>(threadId: string, tab: Tab): Promise<PanelTabs[Tab]> {
    return this.#http.call('GET', threadPath(threadId, `/panel/${tab}`));
  }

  async booking(groupId: string): Promise<Booking> {
    const path = `/v1/bookings/${encodeURIComponent(groupId)}`;
    return (await this.#http.call<{ booking: Booking }>('GET', path)).booking;
  }

  /** A leg that is booked, as a calendar file (RFC 5545). */
  async legCalendar(legId: string): Promise<string> {
    const path = `/v1/legs/${encodeURIComponent(legId)}.ics`;
    return (await this.#http.open('GET', path)).text();
  }

  /** Somebody's profile card; it need not be somebody the person writes with. */
  async user(userId: string): Promise<Profile> {
    const path = `/v1/users/${encodeURIComponent(userId)}`;
    return (await this.#http.call<{ user: Profile }>('GET', path)).user;
  }

  /** Whom the person has blocked, the newest first. */
  blocks(query: PageQuery = {}): Promise<BlocksPage> {
    return this.#http.call('GET', '/v1/me/blocks', { query });
  }

  block(userId: string): Promise<void> {
    return this.#http.call('POST', '/v1/blocks', { body: { user_id: userId } });
  }

  unblock(userId: string): Promise<void> {
    return this.#http.call('DELETE', `/v1/blocks/${encodeURIComponent(userId)}`);
  }

  #changeMessage(
    method: string,
    threadId: string,
    messageId: string,
    body?: object,
  ): Promise<Message> {
    const path = threadPath(threadId, `/messages/${encodeURIComponent(messageId)}`);
    return this.#merging(null, async (merger) => {
      const { message } = await this.#http.call<{ message: Message }>(method, path, { body });
      merger.message(message);
      return message;
    });
  }

  async #merging<T>(asking: Asking, request: (merger: Merger) => Promise<T>): Promise<T> {
    const merger = this.#merger(asking);
    let isAnswered = false;
    try {
      const answer = await request(merger);
      isAnswered = true;
      return answer;
    } finally {
      merger.end(isAnswered);
    }
  }
}

function cardPath(cardId: string, rest = ''): string {
  return `/v1/cards/${encodeURIComponent(cardId)}${rest}`;
}

function threadPath(threadId: string, rest = ''): string {
  return `/v1/threads/${encodeURIComponent(threadId)}${rest}`;
}
