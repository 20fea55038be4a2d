/** Which keys do what, and the switch for those of a single key. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';

import { englishShell, type ShellWords } from '../i18n/shell.ts';
import '../look/dialog.ts';
import { GreenroomElement } from '../session/element.ts';

@customElement('greenroom-help')
export class GreenroomHelp extends GreenroomElement {
  static override styles = [
    GreenroomElement.styles,
    css`
      dl {
        align-items: center;
        display: grid;
        gap: calc(var(--_space) * 3) calc(var(--_space) * 5);
        grid-template-columns: minmax(0, 1fr) max-content;
        margin: 0;
      }

      dd {
        display: flex;
        gap: var(--_space);
        justify-content: flex-end;
        margin: 0;
      }

      kbd {
        background: var(--_surface-sunken);
        border: 1px solid var(--_line);
        border-radius: 0.375rem;
        font: inherit;
        font-size: var(--_size-small);
        line-height: 1.5rem;
        min-inline-size: 1.75rem;
        padding-inline: 0.4rem;
        text-align: center;
      }

      .switch {
        align-items: start;
        border-block-start: 1px solid var(--_line);
        cursor: pointer;
        display: flex;
        gap: calc(var(--_space) * 3);
        margin-block-start: calc(var(--_space) * 5);
        padding-block-start: calc(var(--_space) * 4);
      }

      .switch span span {
        display: block;
      }

      input {
        accent-color: var(--_accent);
        block-size: 1.25rem;
        flex: none;
        inline-size: 1.25rem;
        margin: 0.125rem 0 0;
      }
    `,
  ];

  @property({ type: Boolean }) open = false;
  @property({ attribute: false }) shellWords: ShellWords = englishShell;
  @property({ type: Boolean, attribute: 'single-keys' }) singleKeys = true;
  #wasOpen = false;

  /** Drawn when first opened; then it stays, since it gives the focus back where it came from. */
  protected override render(): TemplateResult | typeof nothing {
    const shell = this.shellWords;
    if (!this.open && !this.#wasOpen) return nothing;
    this.#wasOpen = true;
    return html`<greenroom-dialog
      ?open=${this.open}
      .heading=${shell.shortcuts}
      .closeLabel=${this.words.look.close}
      @close=${() => this.dispatchEvent(new Event('close'))}
    >
      <dl>
        ${this.#keys().map(
          ([command, keys]) =>
            html`<dt>${shell.keys[command]}</dt>
              <dd>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dd>`,
        )}
      </dl>
      <label class="switch">
        <input type="checkbox" .checked=${this.singleKeys} @change=${this.#switched} />
        <span>${shell.singleKeys}<span class="small quiet">${shell.singleKeysHint}</span></span>
      </label>
    </greenroom-dialog>`;
  }

  #keys(): [keyof ShellWords['keys'], string[]][] {
    const { alt, enter, escape, shift, up, down } = this.shellWords.keyNames;
    return [
      ['search', ['/']],
      ['previous', [alt, up]],
      ['next', [alt, down]],
      ['newLine', [shift, enter]],
      ['editLast', [up]],
      ['markRead', ['m']],
      ['back', [escape]],
      ['help', ['?']],
    ];
  }

  readonly #switched = (event: Event): void => {
    this.tell('single-keys', { isOn: (event.target as HTMLInputElement).checked });
  };
}
