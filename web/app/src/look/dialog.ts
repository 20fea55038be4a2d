/** A modal dialog: a sheet from below on phones, a card in the middle otherwise, or a drawer. */

import { css, html, LitElement, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';

import { controls } from './controls.ts';
import { icon } from './icons.ts';

/** The browser keeps the focus inside, closes it by Escape and gives the focus back. Fires `close`. */
@customElement('greenroom-dialog')
export class GreenroomDialog extends LitElement {
  static override styles = [
    controls,
    css`
      dialog {
        background: var(--_surface-raised);
        border: 0;
        border-radius: var(--_radius);
        box-shadow: var(--_shadow);
        color: inherit;
        inline-size: min(30rem, 100vw - 2rem);
        max-block-size: min(44rem, 100dvh - 2rem);
        overflow: hidden;
        padding: 0;
      }

      dialog::backdrop {
        background: rgb(0 0 0 / 45%);
      }

      dialog.drawer {
        block-size: 100dvh;
        border-radius: 0;
        inset-inline: auto 0;
        margin: 0;
        max-block-size: none;
      }

      .frame {
        display: flex;
        flex-direction: column;
        max-block-size: inherit;
      }

      .drawer .frame {
        block-size: 100%;
      }

      header {
        align-items: center;
        display: flex;
        gap: calc(var(--_space) * 3);
        justify-content: space-between;
        padding: calc(var(--_space) * 4) calc(var(--_space) * 5) calc(var(--_space) * 2);
      }

      h2 {
        font-size: var(--_size-large);
        font-weight: 650;
        margin: 0;
      }

      .content {
        flex: 1;
        overflow-y: auto;
        overscroll-behavior: contain;
        padding: calc(var(--_space) * 2) calc(var(--_space) * 5) calc(var(--_space) * 5);
        padding-block-end: max(calc(var(--_space) * 5), env(safe-area-inset-bottom));
      }

      @media (max-width: 32rem) {
        dialog:not(.drawer) {
          border-end-end-radius: 0;
          border-end-start-radius: 0;
          inline-size: 100vw;
          inset-block: auto 0;
          margin-block-end: 0;
          max-inline-size: none;
        }

        dialog.drawer {
          inline-size: 100vw;
          max-inline-size: none;
        }
      }

      @media (prefers-reduced-motion: no-preference) {
        dialog[open] {
          animation: rise 0.16s ease-out;
        }

        @keyframes rise {
          from {
            opacity: 0;
            transform: translateY(0.75rem);
          }
        }
      }
    `,
  ];

  @property({ type: Boolean, reflect: true }) open = false;
  @property() heading = '';
  @property({ attribute: 'close-label' }) closeLabel = '';
  @property({ type: Boolean }) drawer = false;
  @query('dialog') private dialog!: HTMLDialogElement;

  protected override render(): TemplateResult {
    return html`<dialog
      class=${this.drawer ? 'drawer' : ''}
      aria-labelledby="heading"
      @close=${this.#closed}
      @click=${this.#outside}
    >
      <div class="frame">
        <header>
          <h2 id="heading">${this.heading}</h2>
          <button class="icon-button" aria-label=${this.closeLabel} @click=${this.#hide}>
            ${icon('close')}
          </button>
        </header>
        <div class="content" tabindex="-1"><slot></slot></div>
      </div>
    </dialog>`;
  }

  protected override updated(changed: PropertyValues): void {
    if (!changed.has('open')) return;
    if (this.open && !this.dialog.open) this.dialog.showModal();
    if (!this.open && this.dialog.open) this.dialog.close();
  }

  /** For content that loses what had the focus. */
  override focus(): void {
    this.shadowRoot?.querySelector<HTMLElement>('.content')?.focus();
  }

  readonly #hide = (): void => this.dialog.close();

  /** The backdrop is the dialog itself; everything inside is in the frame. */
  readonly #outside = (event: MouseEvent): void => {
    if (event.target === this.dialog) this.dialog.close();
  };

  readonly #closed = (): void => {
    this.open = false;
    this.dispatchEvent(new Event('close'));
  };
}
