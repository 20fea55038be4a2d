/** What narrows a folder: a button that opens the choices, and what is chosen. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import type { Words } from '../i18n/index.ts';
import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import { placeBeside, popover } from '../look/popover.ts';
import { GreenroomElement } from '../session/element.ts';
import type { GreenroomFilterChoices } from './filter_choices.ts';
import type { View } from './folders.ts';

export type Filters = Pick<View, 'unread' | 'starred' | 'has_files' | 'kind' | 'state'>;
export type FilterName = keyof Filters;

/** What is on, in words. */
export function chosenIn(filters: Filters, words: Words['inbox']): [FilterName, string][] {
  const chosen: [FilterName, string][] = [];
  if (filters.unread) chosen.push(['unread', words.unread]);
  if (filters.starred) chosen.push(['starred', words.starred]);
  if (filters.has_files) chosen.push(['has_files', words.hasFiles]);
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
    popover,
    css`
      :host {
        display: inline-flex;
      }

      .icon-button.on {
        background: var(--_accent-soft);
        color: var(--_accent-text);
      }

      .sheet {
        inline-size: min(22rem, 100vw - 1rem);
      }
    `,
  ];

  @property({ attribute: false }) filters: Filters = {};
  @state() private isOpen = false;
  @query('.icon-button') private button!: HTMLButtonElement;
  @query('.sheet') private sheet!: HTMLElement;
  @query('greenroom-filter-choices') private choices!: GreenroomFilterChoices | null;

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
        ${
          this.isOpen
            ? html`<greenroom-filter-choices
                .filters=${this.filters}
                @filters-chosen=${({ detail }: CustomEvent<Filters>) => this.#tell(detail)}
                @done=${() => this.sheet.hidePopover()}
              ></greenroom-filter-choices>`
            : nothing
        }
      </div>`;
  }

  #tell(filters: Filters): void {
    this.dispatchEvent(new CustomEvent('filters-chosen', { detail: filters }));
  }

  readonly #toggle = async (): Promise<void> => {
    if (this.isOpen) {
      this.sheet.hidePopover();
      return;
    }
    try {
      await import('./filter_choices.ts');
    } catch {
      announce(this.words.look.unreachable);
      return;
    }
    this.isOpen = true;
    await this.updateComplete;
    await this.choices?.updateComplete;
    this.sheet.showPopover();
    placeBeside(this.button.getBoundingClientRect(), this.sheet);
    this.choices?.focus();
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
