/** What a page gives to a client, and what it hears from it. */

import type { Connected } from './connection.js';
import type { Environment } from './environment.js';
import type { Problem } from './problem.js';
import type { Send } from './queue.js';
import type { Storage } from './storage.js';
import type { TokenSource } from './tokens.js';
import type { TransportName } from './transports/transport.js';
import type { FeedEvent, InboxPage, Limits, Message, StoredFile } from './types.js';

export interface Options extends Partial<Environment> {
  /** Where the server is, such as `https://chat.example.com`. */
  url: string;
  /** Gives a token of the person; asked again before it ends and when the server refuses it. */
  token: TokenSource;
  /** The person's id, if known: what is stored can then be shown before a token is there. */
  user?: string;
  storage?: Storage | Promise<Storage>;
  /** Which ways to the feed to try, best first. */
  transports?: readonly TransportName[];
  /** The feed had a gap: the inbox was loaded anew, now load what else the page shows. */
  reload?: () => Promise<void> | void;
}

export interface Names {
  connection: Connected;
  /** The feed goes on from this page, the first of all: events do not tell what happened between
   * what a page asked for earlier and this. Threads and messages were asked for again already. */
  begun: InboxPage;
  /** Each durable event once, in order, after it was applied. */
  event: FeedEvent;
  /** Something is not as before: in one thread, or, with null, anywhere. */
  change: string | null;
  send: Send;
  /** A file as it is now, by an event or an answer. */
  file: StoredFile;
  /** The server has said what it allows: `limits` of the client is set from now on. */
  limits: Limits;
  /** Who types or is there, in this thread, has changed. */
  presence: string;
  /** Something went wrong of which no call tells. */
  problem: Problem;
}

export interface Sending {
  clientId: string;
  /** The message that it became, or the problem for which it failed. */
  sent: Promise<Message>;
}
