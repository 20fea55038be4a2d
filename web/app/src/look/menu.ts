/** A button that opens a short list of things to do. Arrow keys, Home, End, Escape. */

import { css, html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';

import { controls } from './controls.ts';
import { icon, type IconName } from './icons.ts';
import { placeBeside, popover, type Side } from './popover.ts';

export interface MenuItem {
  label: string;
  /** A line of explanation below the label. */
  hint?: string;
  icon?: IconName;
  /** Items that follow each other with the same section stand under its name. */
  section?: string;
  /** Draws it as something that cannot be undone. */
  isDanger?: boolean;
  /** Given for a switch: shown with a check mark. */
  isChecked?: boolean;
  run(): void;
}

interface Section {
  name: string | undefined;
  items: MenuItem[];
}

/** The items under the names that they stand under, in their order. */
export function sectionsOf(items: readonly MenuItem[]): Section[] {
  const sections: Section[] = [];
  for (const item of items) {
    const last = sections.at(-1);
    if (last && last.name === item.section) last.items.push(item);
    else sections.push({ name: item.section, items: [item] });
  }
  return sections;
}

@customElement('greenroom-menu')
export class GreenroomMenu extends LitElement {
  static override shadowRootOptions = { ...LitElement.shadowRootOptions, delegatesFocus: true };
  static override styles = [
    controls,
    popover,
    css`
      :host {
        display: inline-flex;
      }

      .list {
        border-radius: var(--_radius-small);
        max-block-size: 70dvh;
        min-inline-size: 11rem;
        padding: var(--_space);
      }

      .list button {
        align-items: center;
        background: transparent;
        border: 0;
        border-radius: calc(var(--_radius-small) - 2px);
        display: flex;
        gap: calc(var(--_space) * 2.5);
        inline-size: 100%;
        min-block-size: 2.5rem;
        padding: calc(var(--_space) * 1.5) calc(var(--_space) * 3);
        text-align: start;
      }

      .list button:hover,
      .list button:focus-visible {
        background: var(--_hover);
        outline-offset: -2px;
      }

      .list .hint {
        color: var(--_text-quiet);
        display: block;
        font-size: var(--_size-small);
        line-height: 1.35;
        text-wrap: pretty;
      }

      .list.explained {
        inline-size: min(23rem, 100vw - 2rem);
      }

      .list.explained button {
        align-items: start;
        padding-block: calc(var(--_space) * 2);
      }

      .section {
        color: var(--_text-quiet);
        font-size: var(--_size-small);
        font-weight: 600;
        margin: 0;
        padding: calc(var(--_space) * 2.5) calc(var(--_space) * 3) var(--_space);
      }

      [role='group'] + [role='group'] {
        border-block-start: 1px solid var(--_line);
        margin-block-start: var(--_space);
      }

      .list .danger {
        color: var(--_danger);
      }

      .list .mark {
        margin-inline-start: auto;
      }

      @media (pointer: coarse) {
        .list button {
          min-block-size: 2.75rem;
        }
      }
    `,
  ];

  @property() label = '';
  @property({ attribute: false }) icon: IconName = 'more';
  @property({ attribute: false }) items: readonly MenuItem[] = [];
  /** Of the button, along which it opens. Beside another place it begins where that does. */
  @property({ attribute: false }) side: Side = 'end';
  @property({ type: Boolean }) open = false;
  /** For a menu that many things share, such as the rows of a list: `openBy` shows it. */
  @property({ type: Boolean, attribute: 'without-button' }) withoutButton = false;
  #owner: HTMLElement | null = null;
  #place: DOMRectInit | null = null;
  @query('.icon-button') private ownButton!: HTMLButtonElement;
  @query('.list') private list!: HTMLElement;

  private get button(): HTMLElement {
    return this.#owner ?? this.ownButton;
  }

  /** Beside its owner, or beside another place, such as where the pointer is; the owner gets the
   * focus back. */
  openBy(owner: HTMLElement, place: DOMRectInit | null = null): void {
    this.#owner = owner;
    this.#place = place;
    void this.#show();
  }

  protected override render(): TemplateResult {
    return html`${this.withoutButton ? nothing : this.#button()}
      <div
        class="sheet list ${this.items.some(({ hint }) => hint) ? 'explained' : ''}"
        popover="auto"
        role="menu"
        aria-label=${this.label}
        @toggle=${this.#toggled}
        @keydown=${this.#listKey}
      >
        ${this.open ? sectionsOf(this.items).map((section) => this.#section(section)) : nothing}
      </div>`;
  }

  #button(): TemplateResult {
    return html`<button
      class="icon-button"
      aria-haspopup="menu"
      aria-expanded=${this.open}
      aria-label=${this.label}
      title=${this.label}
      @click=${this.#toggle}
      @keydown=${this.#buttonKey}
    >
      <slot name="icon">${icon(this.icon)}</slot>
    </button>`;
  }

  #section({ name, items }: Section): TemplateResult | TemplateResult[] {
    const drawn = items.map((item) => this.#item(item));
    if (!name) return drawn;
    return html`<div role="group" aria-label=${name}>
      <p class="section" aria-hidden="true">${name}</p>
      ${drawn}
    </div>`;
  }

  #item(item: MenuItem): TemplateResult {
    const isSwitch = item.isChecked !== undefined;
    const id = `item-${this.items.indexOf(item)}`;
    return html`<button
      role=${isSwitch ? 'menuitemcheckbox' : 'menuitem'}
      aria-checked=${isSwitch ? String(item.isChecked) : nothing}
      aria-labelledby=${item.hint ? `${id} ${id}-hint` : id}
      tabindex="-1"
      class=${item.isDanger ? 'danger' : ''}
      @click=${() => this.#choose(item)}
    >
      ${item.icon ? icon(item.icon) : nothing}
      <span
        ><span id=${id}>${item.label}</span> ${
          item.hint ? html`<span class="hint" id="${id}-hint">${item.hint}</span>` : nothing
        }</span
      >
      ${item.isChecked ? html`<span class="mark">${icon('check')}</span>` : nothing}
    </button>`;
  }

  get #buttons(): HTMLButtonElement[] {
    return [...this.list.querySelectorAll('button')];
  }

  readonly #toggle = (): void => void (this.open ? this.list.hidePopover() : this.#show());

  async #show(focus: 'first' | 'last' = 'first'): Promise<void> {
    this.open = true;
    await this.updateComplete;
    this.list.showPopover();
    placeBeside(this.#anchor, this.list, this.#place ? 'start' : this.side);
    (focus === 'first' ? this.#buttons[0] : this.#buttons.at(-1))?.focus();
  }

  get #anchor(): DOMRect {
    return this.#place ? DOMRect.fromRect(this.#place) : this.button.getBoundingClientRect();
  }

  #choose(item: MenuItem): void {
    this.list.hidePopover();
    this.button.focus();
    item.run();
  }

  readonly #toggled = (event: Event): void => {
    this.open = (event as ToggleEvent).newState === 'open';
    if (!this.open) this.dispatchEvent(new CustomEvent('menu-closed'));
  };

  readonly #buttonKey = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    void this.#show(event.key === 'ArrowUp' ? 'last' : 'first');
  };

  readonly #listKey = (event: KeyboardEvent): void => {
    const buttons = this.#buttons;
    const at = buttons.indexOf(this.shadowRoot?.activeElement as HTMLButtonElement);
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1 + buttons.length,
      Home: 0,
      End: buttons.length - 1,
    };
    const next = moves[event.key];
    if (next !== undefined) {
      event.preventDefault();
      buttons[next % buttons.length]?.focus();
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      event.stopPropagation();
      this.list.hidePopover();
      this.button.focus();
    }
  };
}
