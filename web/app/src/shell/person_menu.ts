/** The person's own corner: who they are here, their language and look, and the way out.
 *
 * Fires `greenroom-language`, `greenroom-theme`, `greenroom-preferences`, `greenroom-blocked`,
 * `greenroom-help` and `greenroom-sign-out`. */

import type { User } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';

import { languageOf, LOCALES } from '../i18n/index.ts';
import { englishShell, type ShellWords } from '../i18n/shell.ts';
import '../look/avatar.ts';
import { icon, type IconName } from '../look/icons.ts';
import { placeBeside, popover } from '../look/popover.ts';
import { GreenroomElement } from '../session/element.ts';
import { type Theme, THEMES } from './kept.ts';
import { styles } from './person_menu_styles.ts';

/** Each by its own name, so that everybody finds theirs. */
const LANGUAGE_NAMES: Record<string, string> = { en: 'English', de: 'Deutsch' };

interface Choice {
  value: string;
  label: string;
  lang?: string;
}

@customElement('greenroom-person-menu')
export class GreenroomPersonMenu extends GreenroomElement {
  static override styles = [GreenroomElement.styles, popover, styles];

  @property({ attribute: false }) shellWords: ShellWords = englishShell;
  @property({ attribute: false }) person: User | null = null;
  /** Of the page. An element's own `theme` is its attribute. */
  @property({ attribute: false }) pageTheme: Theme = 'system';
  @property({ type: Boolean }) sample = false;
  @query('.me') private button!: HTMLElement;
  @query('.sheet') private sheet!: HTMLElement;

  get #name(): string {
    return this.person?.display_name || this.session?.userId || '';
  }

  protected override render(): TemplateResult {
    const words = this.shellWords;
    const language = languageOf(this.session?.locale ?? 'en');
    const deed = (label: string, sign: IconName, event: string): TemplateResult =>
      html`<button @click=${() => this.#leave(event)}>${icon(sign)}${label}</button>`;
    return html`<button
        class="me"
        popovertarget="sheet"
        aria-label=${words.menuOf(this.#name)}
        title=${this.#name}
      >
        ${this.#avatar()}
      </button>
      <div
        class="sheet"
        id="sheet"
        popover
        autofocus
        tabindex="-1"
        role="dialog"
        aria-label=${words.menuOf(this.#name)}
        @toggle=${this.#toggled}
      >
        <div class="who">
          ${this.#avatar()}
          <strong>${this.#name}</strong>
        </div>
        ${this.#choices('language', words.language, this.#languages(), language)}
        ${this.#choices('theme', words.theme, this.#themes(), this.pageTheme)}
        <div class="deeds">
          ${deed(words.preferences, 'filter', 'greenroom-preferences')}
          ${deed(words.blocked, 'person', 'greenroom-blocked')}
          ${deed(words.shortcuts, 'info', 'greenroom-help')}
          ${this.sample ? this.#somebodyElse() : nothing}
          ${deed(words.signOut, 'leave', 'greenroom-sign-out')}
        </div>
      </div>`;
  }

  #avatar(): TemplateResult {
    const src = this.person && this.session ? this.session.avatarOf(this.person) : null;
    return html`<greenroom-avatar
      .name=${this.#name}
      .userId=${this.userId}
      .src=${src}
    ></greenroom-avatar>`;
  }

  #choices(name: string, legend: string, choices: Choice[], chosen: string): TemplateResult {
    return html`<fieldset>
      <legend>${legend}</legend>
      <div class="segments">
        ${choices.map(
          ({ value, label, lang }) =>
            html`<label>
              <input
                type="radio"
                name=${name}
                .value=${value}
                .checked=${value === chosen}
                @change=${() => this.tell(`greenroom-${name}`, { value })}
              />
              <span lang=${lang ?? nothing}>${label}</span>
            </label>`,
        )}
      </div>
    </fieldset>`;
  }

  #languages(): Choice[] {
    return LOCALES.map((value) => ({ value, label: LANGUAGE_NAMES[value] ?? value, lang: value }));
  }

  #themes(): Choice[] {
    const { themes } = this.shellWords;
    return THEMES.map((value) => ({ value, label: themes[value] }));
  }

  #somebodyElse(): TemplateResult {
    const words = this.shellWords;
    return html`<a href="/app/sign-in" target="_blank" rel="noopener"
      >${icon('person')}<span
        >${words.somebodyElse}<span class="visually-hidden">, ${words.opensWindow}</span></span
      ></a
    >`;
  }

  readonly #toggled = (event: Event): void => {
    const isOpen = (event as ToggleEvent).newState === 'open';
    if (isOpen) return placeBeside(this.button.getBoundingClientRect(), this.sheet);
    // Closed by a click elsewhere, the focus is there; otherwise it would be lost.
    const focused = this.shadowRoot?.activeElement ?? null;
    const isLost = document.activeElement === document.body || this.sheet.contains(focused);
    if (isLost) this.button.focus();
  };

  #leave(event: string): void {
    this.sheet.hidePopover();
    this.tell(event);
  }
}
