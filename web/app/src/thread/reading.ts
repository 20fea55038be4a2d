/** Tracks which messages the person has read: those that were on the screen long enough, and all
 * before them. */

import type { Clock, InboxRow, Message } from '@greenroom/sdk';

import { lacksUnread, type Loaded } from './timeline.ts';

/** So long a message is looked at before it counts as seen. */
export const SEEN_AFTER_MS = 500;

export interface ReadingLinks {
  readonly userId: string;
  loaded(): Loaded;
  /** The person's own row, which says how many the server counts as unread. */
  row(): InboxRow | null;
  /** Everything up to this message was read. May be said again. */
  read(messageId: string): void;
  /** Something is no longer new. */
  changed(): void;
}

export class Reading {
  readonly #clock: Clock;
  readonly #links: ReadingLinks;
  /** Of each message in sight, since when. */
  #sinceMs = new Map<string, number>();
  readonly #seen = new Set<string>();
  #upTo = '';
  #wasAtEnd = false;
  #timer: unknown = null;

  constructor(clock: Clock, links: ReadingLinks) {
    this.#clock = clock;
    this.#links = links;
  }

  /** New to the person: by somebody else, after what was read, and not seen yet. */
  isNew({ id, author_id }: Message): boolean {
    return id > this.#upTo && author_id !== this.#links.userId && !this.#seen.has(id);
  }

  /** The server knows that everything up to here was read, here or on another device. */
  known(messageId: string): void {
    if (messageId > this.#upTo) this.#moveTo(messageId);
  }

  /** These are in sight now; none while nobody looks. Whoever stays at the end sees what comes: what
   * newer messages push out of sight there was on the screen all the same. */
  look(messageIds: readonly string[], isAtEnd = false): void {
    const nowMs = this.#clock.now();
    const isFollowing = isAtEnd && this.#wasAtEnd && messageIds.length > 0;
    const pushedOut = isFollowing ? [...this.#sinceMs.keys()] : [];
    const unseen = [...pushedOut, ...messageIds].filter(
      (id) => id > this.#upTo && !this.#seen.has(id),
    );
    this.#sinceMs = new Map(unseen.map((id) => [id, this.#sinceMs.get(id) ?? nowMs]));
    this.#wasAtEnd = isAtEnd;
    this.#plan();
    this.#advance();
  }

  /** The person says so, or has answered. */
  readAll(): void {
    const last = this.#links.loaded().messages.at(-1);
    if (last) this.known(last.id);
    this.#advance();
  }

  stop(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = null;
  }

  #plan(): void {
    this.stop();
    if (this.#sinceMs.size === 0) return;
    const dueMs = Math.min(...this.#sinceMs.values()) + SEEN_AFTER_MS;
    const waitMs = Math.max(0, dueMs - this.#clock.now());
    this.#timer = this.#clock.setTimeout(() => this.#notice(), waitMs);
  }

  #notice(): void {
    const longAgoMs = this.#clock.now() - SEEN_AFTER_MS;
    for (const [id, sinceMs] of this.#sinceMs) {
      if (sinceMs > longAgoMs) continue;
      this.#seen.add(id);
      this.#sinceMs.delete(id);
    }
    this.#plan();
    this.#advance();
    this.#links.changed();
  }

  /** A mark stands for all before it, so it moves only where nothing in between was missed. */
  #advance(): void {
    const loaded = this.#links.loaded();
    const { messages } = loaded;
    const row = this.#links.row();
    const [oldest] = messages;
    const isJoined = oldest && (!loaded.hasOlder || oldest.id <= this.#upTo);
    if (isJoined || (row && !lacksUnread(loaded, row, this.#links.userId))) {
      let upTo = this.#upTo;
      for (const message of messages) {
        if (this.isNew(message)) break;
        if (message.id > upTo) upTo = message.id;
      }
      if (upTo > this.#upTo) this.#moveTo(upTo);
    }
    if (this.#upTo) this.#links.read(this.#upTo);
  }

  #moveTo(messageId: string): void {
    this.#upTo = messageId;
    for (const id of this.#seen) if (id <= messageId) this.#seen.delete(id);
    for (const id of this.#sinceMs.keys()) if (id <= messageId) this.#sinceMs.delete(id);
  }
}
