/** Keeps what one reads in its place while the content around it changes.
 *
 * At the end it stays at the end. Elsewhere the first visible row stays where it is, whether rows
 * come above it, a card grows, or the box itself gets another height. It is done by hand since not
 * all browsers anchor, and those that do give up when a script has moved the view. */

const NEAR_END_PX = 32;
/** A box that is smaller for a moment moves its content by no more than this. */
const MOST_SLIPPED_PX = 100;
/** A scroll that begins so soon after a wheel, a finger or a key comes from it. */
const HAND_MS = 700;
const HANDS = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;

interface Anchor {
  element: Element;
  topPx: number;
}

export class ScrollKeeper {
  /** Whether new content at the end is followed. */
  sticks = true;
  readonly #scroller: HTMLElement;
  readonly #content: HTMLElement;
  readonly #moved: () => void;
  readonly #observer: ResizeObserver;
  #anchor: Anchor | null = null;
  #scrollTopPx = 0;
  #sizesPx = '';
  #handMs = -Infinity;

  constructor(scroller: HTMLElement, content: HTMLElement, moved: () => void) {
    this.#scroller = scroller;
    this.#content = content;
    this.#moved = moved;
    this.#observer = new ResizeObserver(() => this.settle());
    this.#observer.observe(scroller);
    this.#observer.observe(content);
    scroller.addEventListener('scroll', this.#scrolled, { passive: true });
    for (const name of HANDS) scroller.addEventListener(name, this.#touched, { passive: true });
  }

  stop(): void {
    this.#observer.disconnect();
    this.#scroller.removeEventListener('scroll', this.#scrolled);
    for (const name of HANDS) this.#scroller.removeEventListener(name, this.#touched);
  }

  /** For other content: at its end. */
  startAnew(): void {
    this.sticks = true;
    this.#anchor = null;
    this.#sizesPx = '';
    this.#handMs = -Infinity;
  }

  /** To be called after each change of the content, before anything else looks at it. */
  settle(): void {
    // To set a position, even the present one, would end a scroll that has just begun.
    const isSame = this.#sizesPx === this.#sizes;
    if (this.sticks && !isSame) this.#scroller.scrollTop = this.#scroller.scrollHeight;
    if (!this.sticks) this.#correct();
    if (!this.sticks || !isSame) this.#remember();
    this.#moved();
  }

  toEnd(isSmooth: boolean): void {
    const { scrollHeight, clientHeight, scrollTop } = this.#scroller;
    const isNear = scrollHeight - clientHeight - scrollTop < 3 * clientHeight;
    this.#scroller.scrollTo({
      top: scrollHeight,
      behavior: isSmooth && isNear ? 'smooth' : 'instant',
    });
    if (!isSmooth || !isNear) this.sticks = true;
  }

  /** Puts an element at this part of the height, and keeps it there. */
  show(element: Element, part: number): void {
    const box = this.#scroller.getBoundingClientRect();
    const rect = element.getBoundingClientRect();
    const room = Math.max(0, box.height - rect.height);
    this.#scroller.scrollTop += rect.top - box.top - room * part;
    this.sticks = this.#distancePx < 1;
    this.#remember();
    this.#moved();
  }

  get #distancePx(): number {
    const { scrollHeight, clientHeight, scrollTop } = this.#scroller;
    return scrollHeight - clientHeight - scrollTop;
  }

  readonly #touched = (): void => {
    this.#handMs = performance.now();
  };

  readonly #scrolled = (): void => {
    const pulledPx = this.#scrollTopPx - this.#scroller.scrollTop;
    const isByHand = performance.now() - this.#handMs < HAND_MS;
    const isOther = this.#sizesPx !== this.#sizes;
    // Shorter content moves the view up by itself, and may have grown again before this is told.
    const isFar = pulledPx > MOST_SLIPPED_PX && !isOther;
    const isPulledUp = pulledPx > 1 && (isByHand || isFar);
    if (isByHand) this.#touched();
    // A box that was smaller for a moment lets its content slip, and WebKit tells of it only after.
    if (this.sticks && !isPulledUp && pulledPx > 1) this.#sizesPx = '';
    const hasChanged = this.#sizesPx !== this.#sizes;
    if (hasChanged && this.sticks && !isPulledUp) return this.settle();
    if (hasChanged && !this.sticks) this.#correct();
    // Whoever begins to scroll up is let go at once, though they are still near.
    this.sticks = this.#distancePx < (isPulledUp ? 1 : NEAR_END_PX);
    this.#remember();
    this.#moved();
  };

  /** What has moved though nobody scrolled is moved back. */
  #correct(): void {
    const { element, topPx } = this.#anchor ?? {};
    if (!element?.isConnected || topPx === undefined) return;
    const scrolledPx = this.#scroller.scrollTop - this.#scrollTopPx;
    const slippedPx = this.#topOf(element) - (topPx - scrolledPx);
    if (Math.abs(slippedPx) >= 0.5) this.#scroller.scrollTop += slippedPx;
  }

  #remember(): void {
    this.#scrollTopPx = this.#scroller.scrollTop;
    this.#sizesPx = this.#sizes;
    const element = this.#firstVisible();
    this.#anchor = element ? { element, topPx: this.#topOf(element) } : null;
  }

  get #sizes(): string {
    const { scrollHeight, clientHeight } = this.#scroller;
    return `${scrollHeight} ${clientHeight}`;
  }

  #topOf(element: Element): number {
    return element.getBoundingClientRect().top - this.#scroller.getBoundingClientRect().top;
  }

  /** Days first, then the rows of one: so that a long thread is not measured row by row. */
  #firstVisible(): Element | undefined {
    const topPx = this.#scroller.getBoundingClientRect().top;
    const isVisible = (each: Element): boolean => each.getBoundingClientRect().bottom > topPx + 1;
    const days = [...this.#content.querySelectorAll('[data-day]')];
    const day = days.find(isVisible);
    return day && [...day.querySelectorAll('[data-key]')].find(isVisible);
  }
}
