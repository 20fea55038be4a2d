/** How much room there is, as the layout in workspace_styles.ts divides it. */

import type { ReactiveController, ReactiveControllerHost } from 'lit';

export class Screen implements ReactiveController {
  /** One pane at a time. */
  readonly #phone = matchMedia('(max-width: 43.99rem)');
  /** The panel has a place of its own beside the conversation. */
  readonly #wide = matchMedia('(min-width: 75rem)');
  readonly #changed: () => void;

  constructor(host: ReactiveControllerHost) {
    this.#changed = () => host.requestUpdate();
    host.addController(this);
  }

  get isPhone(): boolean {
    return this.#phone.matches;
  }

  get isWide(): boolean {
    return this.#wide.matches;
  }

  hostConnected(): void {
    for (const list of [this.#phone, this.#wide]) list.addEventListener('change', this.#changed);
  }

  hostDisconnected(): void {
    for (const list of [this.#phone, this.#wide]) list.removeEventListener('change', this.#changed);
  }
}
