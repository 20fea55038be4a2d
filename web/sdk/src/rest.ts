/** The calls that a page makes. Each is one request; none is repeated behind the caller's back. */

import type { Merger } from './feed.js';
import type { Http } from './http.js';
import type {
  InboxEdit,
  InboxPage,
  InboxQuery,
  InboxRow,
  Message,
  MessagesPage,
  MessagesQuery,
  NewMessage,
  NewThread,
  ThreadPage,
  ThreadStarted,
} from './types.js';
import { MESSAGES_KEPT } from './state.js';

export interface Presence {
  user_id: string;
  online: boolean;
  typing: boolean;
}

export class Rest {
  readonly #http: Http;
  readonly #merger: () => Merger;

  /** What is answered becomes part of the state, except rows that the feed tells better. */
  constructor(http: Http, merger: () => Merger) {
    this.#http = http;
    this.#merger = merger;
  }

  async inbox(query: InboxQuery = {}): Promise<InboxPage> {
    const merger = this.#merger();
    const page = await this.#http.call<InboxPage>('GET', '/v1/inbox', { query });
    merger.threads(page.items);
    return page;
  }

  async thread(threadId: string): Promise<ThreadPage> {
    const merger = this.#merger();
    const page = await this.#http.call<ThreadPage>('GET', threadPath(threadId));
    merger.threads([page]);
    return page;
  }

  /** The newest page by default; that one is kept. */
  async messages(threadId: string, query: MessagesQuery = {}): Promise<MessagesPage> {
    const merger = this.#merger();
    const path = threadPath(threadId, '/messages');
    const page = await this.#http.call<MessagesPage>('GET', path, { query });
    const { before, after, limit = MESSAGES_KEPT } = query;
    const isNewest = before === undefined && after === undefined && limit >= MESSAGES_KEPT;
    if (isNewest) merger.messages(threadId, page.items);
    return page;
  }

  /** A repeat with the same `client_id` answers with the thread that the first one started. */
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

  block(userId: string): Promise<void> {
    return this.#http.call('POST', '/v1/blocks', { body: { user_id: userId } });
  }

  unblock(userId: string): Promise<void> {
    return this.#http.call('DELETE', `/v1/blocks/${encodeURIComponent(userId)}`);
  }

  async #changeMessage(
    method: string,
    threadId: string,
    messageId: string,
    body?: object,
  ): Promise<Message> {
    const merger = this.#merger();
    const path = threadPath(threadId, `/messages/${encodeURIComponent(messageId)}`);
    const message = await this.#http.call<Message>(method, path, { body });
    merger.changed(message);
    return message;
  }
}

function threadPath(threadId: string, rest = ''): string {
  return `/v1/threads/${encodeURIComponent(threadId)}${rest}`;
}
