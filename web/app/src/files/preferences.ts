/** What a person has chosen for themselves: Safe-Mode. */

import type { Preferences } from '@greenroom/sdk';
import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import '../look/dialog.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { FilesElement } from './element.ts';

/** Fires `close`. */
@customElement('greenroom-preferences')
export class GreenroomPreferences extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      label {
        align-items: center;
        cursor: pointer;
        display: grid;
        gap: var(--_space) calc(var(--_space) * 4);
        grid-template-columns: 1fr auto;
        min-block-size: 2.75rem;
      }

      strong {
        font-weight: 600;
      }

      p {
        margin: 0;
      }

      .switch {
        appearance: none;
        background: var(--_line-strong);
        block-size: 1.75rem;
        border-radius: 1rem;
        cursor: pointer;
        inline-size: 3rem;
        margin: 0;
        position: relative;
      }

      .switch::before {
        background: var(--_surface);
        block-size: 1.375rem;
        border-radius: 50%;
        content: '';
        inline-size: 1.375rem;
        inset-block-start: 0.1875rem;
        inset-inline-start: 0.1875rem;
        position: absolute;
      }

      .switch:checked {
        background: var(--_accent);
      }

      .switch:checked::before {
        inset-inline-start: 1.4375rem;
      }

      @media (prefers-reduced-motion: no-preference) {
        .switch::before {
          transition: inset-inline-start 0.14s ease-out;
        }
      }

      @media (forced-colors: active) {
        .switch {
          border: 1px solid;
        }
      }
    `,
  ];

  @state() private preferences: Preferences | null = null;
  @state() private problem = '';
  @state() private isBusy = false;

  protected override joined(session: Session): Stop[] {
    void this.#attempt(session, () => session.client.rest.preferences());
    return super.joined(session);
  }

  protected override render(): TemplateResult {
    const words = this.fileWords;
    return html`<greenroom-dialog
      open
      .heading=${words.preferences}
      close-label=${this.words.look.close}
      @close=${() => this.dispatchEvent(new Event('close'))}
    >
      ${this.preferences ? this.#choices(this.preferences) : this.#waiting()}
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
    </greenroom-dialog>`;
  }

  #waiting(): TemplateResult | typeof nothing {
    return this.problem ? nothing : html`<p class="quiet">${this.words.look.loading}</p>`;
  }

  #choices({ safe_mode: isSafe }: Preferences): TemplateResult {
    const words = this.fileWords;
    return html`<label>
        <strong>${words.safeMode}</strong>
        <input
          type="checkbox"
          role="switch"
          class="switch"
          aria-describedby="about"
          .checked=${isSafe}
          ?disabled=${this.isBusy}
          @change=${this.#switch}
        />
      </label>
      <p class="quiet small" id="about">${words.safeModeHint}</p>`;
  }

  readonly #switch = async (event: Event): Promise<void> => {
    const { session } = this;
    const { checked } = event.target as HTMLInputElement;
    if (!session) return;
    const edit = { safe_mode: checked };
    await this.#attempt(session, () => session.client.rest.setPreferences(edit));
    if (this.problem) return;
    announce(this.fileWords.saved);
    // What is shown was decided under the old choice.
    await session.reload().catch(() => {});
  };

  async #attempt(session: Session, deed: () => Promise<Preferences>): Promise<void> {
    this.isBusy = true;
    this.problem = '';
    try {
      this.preferences = await deed();
    } catch (error) {
      this.problem = session.explain(error);
    } finally {
      this.isBusy = false;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-preferences': GreenroomPreferences;
  }
}
