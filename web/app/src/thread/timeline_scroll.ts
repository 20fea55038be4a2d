/** Which part of a thread is on the screen, and what brings it there. */

import type { Message } from '@greenroom/sdk';
import type { PropertyValues } from 'lit';
import { property, query, state } from 'lit/decorators.js';

import { GreenroomElement } from '../session/element.ts';
import type { Conversation } from './conversation.ts';
import { Frame } from './frame.ts';
import type { Reading } from './reading.ts';
import { ScrollKeeper } from './scroll_keeper.ts';
import {
  around,
  downwards,
  lacksUnread,
  latest,
  MOST_SHOWN,
  opening,
  shownOf,
  type Span,
  upwards,
  type Viewer,
  WHOLE,
} from './timeline.ts';

const FLASH_MS = 2_500;
/** The first of more than a thousand new messages is not looked for. */
const MOST_PAGES_OF_UNREAD = 20;

/** Whoever draws it has a `.scroller` with a `.content`, and in it rows with `data-id`. */
export abstract class ScrolledTimeline extends GreenroomElement {
  @property({ attribute: false }) conversation: Conversation | null = null;
  /** Counts the changes of the conversation, which is always the same object. */
  @property({ attribute: false }) version = 0;
  @property({ attribute: false }) reading: Reading | null = null;
  /** The message that is lit up. */
  @state() protected flashed: string | null = null;
  @state() isAtEnd = true;
  /** How many that are new stand below and above what can be seen. */
  @state() protected newBelow = 0;
  @state() protected newAbove = 0;
  @state() protected span: Span = WHOLE;
  @query('.scroller') protected scroller!: HTMLElement;
  @query('.content') protected content!: HTMLElement;
  readonly #settling = new Frame(() => this.#settle());
  readonly #reaching = new Frame(() => this.#reach());
  #keeper: ScrollKeeper | null = null;
  #isPlaced = false;
  #wasTouched = false;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#settling.stop();
    this.#reaching.stop();
    this.#keeper?.stop();
    this.#keeper = null;
  }

  /** Scrolls to a message and lights it up; whether it is here. */
  async show(messageId: string): Promise<boolean> {
    const { conversation } = this;
    if (!conversation || !(await conversation.find(messageId))) return false;
    this.#wasTouched = true;
    const isShown = this.shown.some(({ id }) => id === messageId);
    if (!isShown) this.span = around(conversation.loaded.messages, messageId);
    this.requestUpdate();
    await this.updateComplete;
    const element = this.elementOf(messageId);
    if (!element) return false;
    this.#keeper?.show(element, 0.4);
    this.flashed = messageId;
    element.focus({ preventScroll: true });
    setTimeout(() => {
      if (this.flashed === messageId) this.flashed = null;
    }, FLASH_MS);
    return true;
  }

  /** After the person has sent something. */
  async toEnd(): Promise<void> {
    this.span = latest(this.conversation?.loaded.messages ?? []);
    this.#wasTouched = true;
    await this.updateComplete;
    this.#keeper?.toEnd(false);
  }

  /** The messages that can be seen: half of each at least, or as much as half of the view. */
  inSight(): string[] {
    if (!this.scroller || !this.#isPlaced) return [];
    const box = this.scroller.getBoundingClientRect();
    const topPx = Math.max(0, box.top);
    const endPx = Math.min(innerHeight, box.bottom);
    const ids: string[] = [];
    for (const each of this.content.querySelectorAll<HTMLElement>('[data-id]')) {
      const { top, bottom, height } = each.getBoundingClientRect();
      if (top >= endPx) break;
      const seenPx = Math.min(bottom, endPx) - Math.max(top, topPx);
      if (seenPx >= Math.min(height, endPx - topPx) / 2) ids.push(each.dataset['id'] ?? '');
    }
    return ids;
  }

  /** Counts what is new above and below. */
  count(): void {
    const ids = this.inSight();
    const { reading } = this;
    const [first, last] = [ids[0], ids.at(-1)];
    if (!reading || first === undefined || last === undefined) return;
    const isNew = (this.conversation?.loaded.messages ?? []).filter((each) => reading.isNew(each));
    this.newBelow = isNew.filter(({ id }) => id > last).length;
    this.newAbove = isNew.filter(({ id }) => id < first).length;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    if (changed.has('conversation')) this.#startAnew();
    const messages = this.conversation?.loaded.messages ?? [];
    if (!this.#isPlaced && !this.#wasTouched) this.span = opening(messages, this.viewer);
    const isCrowded = this.span.last === Infinity && this.shown.length > MOST_SHOWN;
    if (isCrowded && this.isAtEnd) this.span = latest(messages);
  }

  protected override updated(_changed: PropertyValues<this>): void {
    this.#keeper ??= new ScrollKeeper(this.scroller, this.content, () => this.#moved());
    this.#settling.ask();
  }

  #settle(): void {
    this.#keeper?.settle();
    this.#place();
  }

  #startAnew(): void {
    this.span = WHOLE;
    this.#isPlaced = false;
    this.#wasTouched = false;
    this.isAtEnd = true;
    this.newBelow = this.newAbove = 0;
    this.flashed = null;
    this.#keeper?.startAnew();
  }

  /** On opening: at the first message that is new, else at the end; until the person scrolls. */
  #place(): void {
    const { conversation } = this;
    if (!conversation || this.#isPlaced || conversation.loaded.messages.length === 0) return;
    this.#showUnread();
    this.#isPlaced = conversation.isFresh;
    if (!this.#isPlaced) return;
    // What fits the screen is neither scrolled nor changes its size, and is in sight all the same.
    this.dispatchEvent(new CustomEvent('moved'));
    void this.#findUnread(MOST_PAGES_OF_UNREAD);
  }

  /** While the server counts more as unread than is loaded, the first of it is further up. */
  async #findUnread(pages: number): Promise<void> {
    const { conversation } = this;
    if (!conversation?.row || this.#wasTouched || pages === 0) return;
    if (!lacksUnread(conversation.loaded, conversation.row, this.viewer.userId)) return;
    await conversation.loadOlder();
    if (!this.#wasTouched) this.span = opening(conversation.loaded.messages, this.viewer);
    await this.updateComplete;
    this.#showUnread();
    if (conversation === this.conversation) await this.#findUnread(pages - 1);
  }

  #showUnread(): void {
    const line = this.content.querySelector('.unread');
    if (this.#wasTouched) return;
    if (line) this.#keeper?.show(line, 0.15);
    // What was stored had a line, and the server says that all was read.
    else if (!this.isAtEnd) this.#keeper?.toEnd(false);
  }

  protected get viewer(): Viewer {
    return {
      userId: this.userId,
      unreadAfter: this.conversation?.unreadAfter ?? null,
      dayKey: (at) => this.format.dayKey(at),
    };
  }

  protected get shown(): Message[] {
    return shownOf(this.conversation?.loaded.messages ?? [], this.span);
  }

  /** The button under it goes away, so whoever put this here takes the focus. */
  protected readonly jump = async (): Promise<void> => {
    const isCut = this.span.last !== Infinity;
    this.#wasTouched = true;
    this.span = latest(this.conversation?.loaded.messages ?? []);
    await this.updateComplete;
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.#keeper?.toEnd(!isCut && !isCalm);
    this.dispatchEvent(new CustomEvent('jumped'));
  };

  /** To the first that is new and was passed over. */
  protected readonly toNew = async (): Promise<void> => {
    const { conversation, reading } = this;
    const messages = conversation?.loaded.messages ?? [];
    const first = messages.find((each) => reading?.isNew(each));
    if (first) await this.show(first.id);
  };

  /** After each scroll and each change of size. */
  #moved(): void {
    this.isAtEnd = this.#keeper?.sticks ?? true;
    this.#reaching.ask();
    this.dispatchEvent(new CustomEvent('moved'));
    this.count();
  }

  /** Draws more where the end of what is drawn comes near. */
  #reach(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (scrollTop < 1.5 * clientHeight) this.#reachUp();
    const isNearEnd = scrollHeight - clientHeight - scrollTop < clientHeight;
    if (isNearEnd && this.span.last !== Infinity) {
      this.span = downwards(this.conversation?.loaded.messages ?? [], this.span);
      if (this.#keeper) this.#keeper.sticks = false;
    }
    if (this.isUpdatePending) void this.updateComplete.then(() => this.#settle());
  }

  #reachUp(): void {
    const { conversation } = this;
    if (!conversation?.isFresh || !this.#isPlaced || conversation.isLoadingOlder) return;
    if (this.span.first > 0) {
      this.span = upwards(conversation.loaded.messages, this.span);
    } else if (conversation.loaded.hasOlder && !conversation.olderFailed) {
      void conversation.loadOlder().then(() => {
        this.span = upwards(conversation.loaded.messages, this.span);
      });
    }
  }

  protected elementOf(messageId: string): HTMLElement | null {
    return this.content.querySelector(`[data-id="${CSS.escape(messageId)}"]`);
  }

  /** From now on nothing is scrolled on the person's behalf. */
  protected readonly touched = (): void => {
    this.#wasTouched = true;
  };
}
