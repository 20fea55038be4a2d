/** Which part of a thread is on the screen, and what brings it there. */

import type { Message } from '@greenroom/sdk';
import type { PropertyValues } from 'lit';
import { property, query, state } from 'lit/decorators.js';

import { GreenroomElement } from '../session/element.ts';
import type { Conversation } from './conversation.ts';
import { Frame } from './frame.ts';
import { ScrollKeeper } from './scroll_keeper.ts';
import {
  around,
  downwards,
  firstUnreadOf,
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
const MOST_PAGES_OF_UNREAD = 3;

/** Whoever draws it has a `.scroller` with a `.content`, and in it rows with `data-id`. */
export abstract class ScrolledTimeline extends GreenroomElement {
  @property({ attribute: false }) conversation: Conversation | null = null;
  /** Counts the changes of the conversation, which is always the same object. */
  @property({ attribute: false }) version = 0;
  /** The message that is lit up. */
  @state() protected flashed: string | null = null;
  @state() protected isAtEnd = true;
  /** What came while the person looked at something older. */
  @state() protected newCount = 0;
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

  /** Something new came in; counted while the person looks at something older. */
  arrived(message: Message): void {
    if (!this.isAtEnd && message.author_id !== this.session?.userId) this.newCount += 1;
  }

  /** The last message of which the end can be seen. */
  lastSeen(): Message | undefined {
    if (!this.scroller || !this.#isPlaced) return undefined;
    const endPx = this.scroller.getBoundingClientRect().bottom + 1;
    const elements = [...this.content.querySelectorAll<HTMLElement>('[data-id]')].reverse();
    const seen = elements.find((each) => each.getBoundingClientRect().bottom <= endPx);
    return this.shown.find(({ id }) => id === seen?.dataset['id']);
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
    this.newCount = 0;
    this.flashed = null;
    this.#keeper?.startAnew();
  }

  /** On opening: at the first message that is new, else at the end; until the person scrolls. */
  #place(): void {
    const { conversation } = this;
    if (!conversation || this.#isPlaced || conversation.loaded.messages.length === 0) return;
    this.#showUnread();
    this.#isPlaced = conversation.isFresh;
    if (this.#isPlaced) void this.#findUnread(MOST_PAGES_OF_UNREAD);
  }

  /** When all that is loaded is new, the first of it is further up. */
  async #findUnread(pages: number): Promise<void> {
    const { conversation } = this;
    if (!conversation?.loaded.hasOlder || this.#wasTouched || pages === 0) return;
    const [oldest] = conversation.loaded.messages;
    if (firstUnreadOf(conversation.loaded.messages, this.viewer) !== oldest) return;
    await conversation.loadOlder();
    if (!this.#wasTouched) this.span = opening(conversation.loaded.messages, this.viewer);
    await this.updateComplete;
    this.#showUnread();
    if (conversation === this.conversation) await this.#findUnread(pages - 1);
  }

  #showUnread(): void {
    const line = this.content.querySelector('.unread');
    if (line && !this.#wasTouched) this.#keeper?.show(line, 0.15);
  }

  protected get viewer(): Viewer {
    return {
      userId: this.session?.userId ?? '',
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

  /** After each scroll and each change of size. */
  #moved(): void {
    this.isAtEnd = this.#keeper?.sticks ?? true;
    if (this.isAtEnd && this.span.last === Infinity) this.newCount = 0;
    this.#reaching.ask();
    this.dispatchEvent(new CustomEvent('moved'));
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
