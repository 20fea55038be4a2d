/** How much room the element has, as messages_styles.ts divides it. */

import type { ReactiveController, ReactiveControllerHost } from 'lit';

/** One pane at a time; two, and the panel over them; three. */
export type Size = 'phone' | 'tablet' | 'desktop';

const TABLET_REM = 44;
const DESKTOP_REM = 75;

export class Room implements ReactiveController {
  readonly #element: ReactiveControllerHost & HTMLElement;
  readonly #observer = new ResizeObserver(() => this.#look());
  #size: Size | null = null;

  constructor(element: ReactiveControllerHost & HTMLElement) {
    this.#element = element;
    element.addController(this);
  }

  get isPhone(): boolean {
    return this.#now === 'phone';
  }

  get isDesktop(): boolean {
    return this.#now === 'desktop';
  }

  hostConnected(): void {
    this.#observer.observe(this.#element);
  }

  hostDisconnected(): void {
    this.#observer.disconnect();
    this.#size = null;
  }

  get #now(): Size {
    this.#size ??= this.#measure();
    return this.#size;
  }

  #look(): void {
    const size = this.#measure();
    if (size === this.#size) return;
    this.#size = size;
    this.#element.requestUpdate();
  }

  /** The styles ask in the page's own rem. */
  #measure(): Size {
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    const width = this.#element.clientWidth / rem;
    if (width < TABLET_REM) return 'phone';
    return width < DESKTOP_REM ? 'tablet' : 'desktop';
  }
}
