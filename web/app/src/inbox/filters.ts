/** What narrows a folder: a button that opens the choices, and what is chosen. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import type { Words } from '../i18n/index.ts';
import { icon } from '../look/icons.ts';
import { placeBeside, popover } from '../look/popover.ts';
import { GreenroomElement } from '../session/element.ts';
import { chips } from './styles.ts';
import type { View } from './folders.ts';

export type Filters = Pick<View, 'unread' | 'starred' | 'kind' | 'state'>;
export type FilterName = keyof Filters;

/** What is on, in words. */
export function chosenIn(filters: Filters, words: Words['inbox']): [FilterName, string][] {
  const chosen: [FilterName, string][] = [];
  if (filters.unread) chosen.push(['unread', words.unread]);
  if (filters.starred) chosen.push(['starred', words.starred]);
  if (filters.kind) chosen.push(['kind', words.kinds[filters.kind]]);
  if (filters.state) chosen.push(['state', words.states[filters.state]]);
  return chosen;
}

export function without(filters: Filters, name: FilterName): Filters {
  const { [name]: _gone, ...rest } = filters;
  return rest;
}

/** Fires `filters-chosen` with all that is on. */
@customElement('greenroom-inbox-filters')
export class GreenroomInboxFilters extends GreenroomElement {
  static override shadowRootOptions = {
    ...GreenroomElement.shadowRootOptions,
    delegatesFocus: true,
  };
  static override styles = [
    GreenroomElement.styles,
    chips,
    popover,
    css`
      :host {
        display: inline-flex;
      }

      .icon-button.on {
        background: var(--_accent-soft);
        color: var(--_accent);
      }

      .sheet {
        inline-size: min(22rem, 100vw - 1rem);
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
  @state() private isOpen = false;
  @query('.icon-button') private button!: HTMLButtonElement;
  @query('.sheet') private sheet!: HTMLElement;

  protected override render(): TemplateResult {
    const words = this.words.inbox;
    const count = Object.keys(this.filters).length;
    const label = count > 0 ? words.filterOn(count) : words.filter;
    return html`<button
        class="icon-button ${count > 0 ? 'on' : ''}"
        aria-haspopup="dialog"
        aria-expanded=${this.isOpen}
        aria-label=${label}
        title=${label}
        @click=${this.#toggle}
      >
        ${icon('filter')}
      </button>
      <div
        class="sheet"
        popover="auto"
        role="dialog"
        aria-label=${words.filter}
        @toggle=${this.#toggled}
        @keydown=${this.#key}
      >
        ${this.isOpen ? this.#choices() : nothing}
      </div>`;
  }

  #choices(): TemplateResult {
    const words = this.words.inbox;
    return html`<fieldset>
        <legend class="visually-hidden">${words.filter}</legend>
        ${this.#flag('unread', words.unread)} ${this.#flag('starred', words.starred)}
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
        <button class="button" @click=${() => this.sheet.hidePopover()}>
          ${this.words.look.close}
        </button>
      </footer>`;
  }

  #flag(name: 'unread' | 'starred', label: string): TemplateResult {
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
      this.#tell(value === null ? rest : ({ ...rest, [name]: value } as Filters));
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

  readonly #toggle = async (): Promise<void> => {
    if (this.isOpen) return this.sheet.hidePopover();
    this.isOpen = true;
    await this.updateComplete;
    this.sheet.showPopover();
    placeBeside(this.button.getBoundingClientRect(), this.sheet);
    this.sheet.querySelector('input')?.focus();
  };

  readonly #toggled = (event: Event): void => {
    this.isOpen = (event as ToggleEvent).newState === 'open';
  };

  /** The browser closes it by Escape; whoever listens further out need not hear of it. */
  readonly #key = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    this.sheet.hidePopover();
    this.button.focus();
  };
}
