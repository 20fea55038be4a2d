/** Whether somebody looks at a thread, and what of it they have read. */

import type { Session } from '../session/session.ts';
import type { Conversation } from './conversation.ts';
import { ReadMarks } from './read_marks.ts';
import { Reading } from './reading.ts';

/** As much of the timeline as this takes. */
export interface Sight {
  readonly isAtEnd: boolean;
  inSight(): string[];
  count(): void;
}

export class Attention {
  readonly reading: Reading;
  readonly #element: HTMLElement;
  readonly #conversation: Conversation;
  readonly #sight: () => Sight | null;
  readonly #marks: ReadMarks;
  #isOnScreen = true;

  constructor(
    element: HTMLElement,
    session: Session,
    conversation: Conversation,
    sight: () => Sight | null,
  ) {
    this.#element = element;
    this.#conversation = conversation;
    this.#sight = sight;
    this.#marks = new ReadMarks(session.clock, '', (messageId) =>
      session.client.rest.read(conversation.threadId, messageId),
    );
    this.reading = new Reading(session.clock, {
      userId: session.userId,
      loaded: () => conversation.loaded,
      row: () => conversation.row,
      read: (messageId) => this.#marks.see(messageId),
      changed: () => this.#sight()?.count(),
    });
  }

  /** Returns how to stop. */
  start(): () => void {
    const seen = new IntersectionObserver(([entry]) => {
      this.#isOnScreen = entry?.isIntersecting ?? true;
      this.look();
    });
    seen.observe(this.#element);
    const stop = new AbortController();
    const { signal } = stop;
    document.addEventListener('visibilitychange', this.look, { signal });
    for (const name of ['focus', 'blur']) addEventListener(name, this.look, { signal });
    // Of the page around; the timeline tells of its own.
    addEventListener('scroll', this.look, { capture: true, passive: true, signal });
    return () => {
      stop.abort();
      seen.disconnect();
      this.reading.stop();
      this.#marks.stop();
    };
  }

  /** What is on the screen is being read while somebody is there to do so. */
  readonly look = (): void => {
    const sight = this.#sight();
    if (!this.#conversation.isFresh || !sight) return;
    const readUpTo = this.#conversation.row?.last_read?.message_id ?? '';
    this.#marks.known(readUpTo);
    this.reading.known(readUpTo);
    this.reading.look(this.#isLooking ? sight.inSight() : [], sight.isAtEnd);
  };

  /** All that is here counts as read, seen or not. */
  readAll(): void {
    if (this.#conversation.isFresh) this.reading.readAll();
    this.#sight()?.count();
    this.#conversation.forgetUnread();
  }

  get #isLooking(): boolean {
    const isSeen = this.#isOnScreen && this.#element.checkVisibility({ visibilityProperty: true });
    return isSeen && !document.hidden && document.hasFocus();
  }
}
