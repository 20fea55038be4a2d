/** The choices that narrow a folder. Fetched when somebody first opens them: see filters.ts. */

import { css, html, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';

import { GreenroomElement } from '../session/element.ts';
import { type Filters, without } from './filters.ts';

/** Fires `filters-chosen` with all that is on, and `done`. */
@customElement('greenroom-filter-choices')
export class GreenroomFilterChoices extends GreenroomElement {
  static override styles = [
    GreenroomElement.styles,
    css`
      .choice {
        display: inline-flex;
        position: relative;
      }

      .choice input {
        appearance: none;
        block-size: 100%;
        border-radius: var(--_radius-round);
        cursor: pointer;
        inline-size: 100%;
        inset: 0;
        margin: 0;
        position: absolute;
      }

      .choice span {
        align-items: center;
        border: 1px solid var(--_line);
        border-radius: var(--_radius-round);
        display: inline-flex;
        font-size: var(--_size-small);
        min-block-size: 2rem;
        padding-inline: calc(var(--_space) * 3);
      }

      .choice:hover span {
        background: var(--_hover);
      }

      .choice input:checked + span {
        background: var(--_accent-soft);
        border-color: var(--_accent);
        color: var(--_accent-text);
        font-weight: 500;
      }

      @media (pointer: coarse) {
        .choice span {
          min-block-size: 2.75rem;
        }
      }

      fieldset {
        border: 0;
        display: flex;
        flex-wrap: wrap;
        gap: calc(var(--_space) * 2);
        margin: 0 0 calc(var(--_space) * 4);
        min-inline-size: 0;
        padding: 0;
      }

      legend {
        color: var(--_text-quiet);
        font-size: var(--_size-small);
        margin-block-end: calc(var(--_space) * 2);
        padding: 0;
      }

      footer {
        display: flex;
        gap: calc(var(--_space) * 2);
        justify-content: flex-end;
      }
    `,
  ];

  @property({ attribute: false }) filters: Filters = {};

  override focus(): void {
    this.renderRoot.querySelector('input')?.focus();
  }

  protected override render(): TemplateResult {
    const words = this.words.inbox;
    return html`<fieldset>
        <legend class="visually-hidden">${words.filter}</legend>
        ${this.#flag('unread', words.unread)} ${this.#flag('starred', words.starred)}
        ${this.#flag('has_files', words.hasFiles)}
      </fieldset>
      ${this.#group('kind', words.kind, words.kinds)}
      ${this.#group('state', words.state, words.states)}
      <footer>
        <button
          class="button plain"
          ?disabled=${Object.keys(this.filters).length === 0}
          @click=${() => this.#tell({})}
        >
          ${words.clearAll}
        </button>
        <button class="button" @click=${() => this.dispatchEvent(new Event('done'))}>
          ${this.words.look.close}
        </button>
      </footer>`;
  }

  #flag(name: 'unread' | 'starred' | 'has_files', label: string): TemplateResult {
    const toggle = (): void => {
      const isOn = this.filters[name] ?? false;
      this.#tell(isOn ? without(this.filters, name) : { ...this.filters, [name]: true });
    };
    return html`<label class="choice"
      ><input type="checkbox" .checked=${this.filters[name] ?? false} @change=${toggle} />
      <span>${label}</span></label
    >`;
  }

  #group<Name extends 'kind' | 'state'>(
    name: Name,
    label: string,
    names: Record<string, string>,
  ): TemplateResult {
    const choose = (value: string | null): void => {
      const rest = without(this.filters, name);
      this.#tell(value === null ? rest : { ...rest, [name]: value });
    };
    const choice = (value: string | null, text: string): TemplateResult =>
      html`<label class="choice"
        ><input
          type="radio"
          name=${name}
          .checked=${(this.filters[name] ?? null) === value}
          @change=${() => choose(value)}
        />
        <span>${text}</span></label
      >`;
    return html`<fieldset>
      <legend>${label}</legend>
      ${choice(null, this.words.inbox.any)}
      ${Object.entries(names).map(([value, text]) => choice(value, text))}
    </fieldset>`;
  }

  #tell(filters: Filters): void {
    this.dispatchEvent(new CustomEvent('filters-chosen', { detail: filters }));
  }
}
