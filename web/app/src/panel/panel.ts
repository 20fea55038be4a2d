/** `<greenroom-panel thread-id tab>`: what stands beside a conversation.
 *
 * What it shows is fetched when it is first shown: most pages with a list never need it. */

import { css, html, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { tokens } from '../look/tokens.ts';
import { GreenroomElement } from '../session/element.ts';
import type { GreenroomPanelFrame } from './frame.ts';

@customElement('greenroom-panel')
export class GreenroomPanel extends GreenroomElement {
  static override styles = [
    tokens,
    GreenroomElement.styles,
    css`
      :host {
        background: var(--_surface);
        box-sizing: border-box;
        /* What it would like to have where nobody says: its contents do not count. */
        contain-intrinsic-inline-size: 22rem;
        container-type: inline-size;
        display: block;
        max-block-size: 100dvh;
        min-block-size: 20rem;
        min-inline-size: min(100%, 16rem);
        overflow: hidden;
      }

      div {
        padding: calc(var(--_space) * 5);
      }
    `,
  ];

  @property({ attribute: 'thread-id', reflect: true }) threadId: string | null = null;
  @property({ reflect: true }) tab: string | null = null;
  @property({ type: Boolean, reflect: true }) override hidden = false;
  @state() private hasFrame = false;
  @state() private error: unknown = null;
  @query('greenroom-panel-frame') private frame!: GreenroomPanelFrame | null;
  #fetched: Promise<void> | null = null;

  /** Where the keyboard goes when the panel opens. */
  override focus(options?: FocusOptions): void {
    void this.#focus(options);
  }

  async #focus(options?: FocusOptions): Promise<void> {
    await this.#fetched;
    await this.updateComplete;
    await this.frame?.updateComplete;
    this.frame?.focus(options);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    if (!this.hidden) this.#fetched ??= this.#fetch();
  }

  async #fetch(): Promise<void> {
    this.error = null;
    try {
      await import('./frame.ts');
      this.hasFrame = true;
    } catch (error) {
      this.error = error;
    }
  }

  protected override render(): TemplateResult {
    if (!this.hasFrame) return this.error ? this.#failure() : this.#waiting();
    return html`<greenroom-panel-frame
      exportparts="panel"
      .threadId=${this.threadId}
      .tab=${this.tab}
      .isShown=${!this.hidden}
      @hide=${() => (this.hidden = true)}
      @choose=${({ detail }: CustomEvent<string>) => (this.tab = detail)}
    ></greenroom-panel-frame>`;
  }

  #waiting(): TemplateResult {
    return html`<div class="quiet" role="status">${this.words.look.loading}</div>`;
  }

  #failure(): TemplateResult {
    return html`<div role="alert">
      <p>${this.session?.explain(this.error)}</p>
      <button class="button" @click=${() => (this.#fetched = this.#fetch())}>
        ${this.words.look.retry}
      </button>
    </div>`;
  }
}
