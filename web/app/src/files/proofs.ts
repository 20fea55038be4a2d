/** The pictures of a card: looked at, and chosen where somebody may choose. */

import type { StoredFile } from '@greenroom/sdk';
import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';

import { icon } from '../look/icons.ts';
import { GreenroomElement } from '../session/element.ts';
import { FilesElement } from './element.ts';
import './picture.ts';
import type { PictureNote } from './picture_notes.ts';

/** Fires `chosen` with the ids of all that are, in the order of the gallery. */
@customElement('greenroom-proofs')
export class GreenroomProofs extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        display: block;
      }

      h4 {
        color: var(--_text-quiet);
        font-size: var(--_size-small);
        font-weight: 400;
        margin: calc(var(--_space) * 3) 0 calc(var(--_space) * 1.5);
      }

      .notes {
        display: grid;
        gap: calc(var(--_space) * 1.5);
        list-style: none;
        margin: 0;
        padding: 0;
      }

      .notes li {
        align-items: center;
        display: grid;
        gap: calc(var(--_space) * 2.5);
        grid-template-columns: 3rem minmax(0, 1fr);
      }

      .notes span {
        overflow-wrap: anywhere;
        white-space: pre-line;
      }

      .noted {
        align-items: center;
        background: var(--_accent);
        block-size: 1.5rem;
        border-radius: 50%;
        color: var(--_on-accent);
        display: flex;
        inline-size: 1.5rem;
        inset-block-end: 0.375rem;
        inset-inline-start: 0.375rem;
        justify-content: center;
        pointer-events: none;
        position: absolute;
      }

      .noted svg.icon {
        block-size: 0.875rem;
        inline-size: 0.875rem;
      }

      ul {
        display: grid;
        gap: calc(var(--_space) * 1.5);
        grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr));
        list-style: none;
        margin: 0;
        padding: 0;
      }

      li {
        position: relative;
      }

      greenroom-picture {
        aspect-ratio: 1;
        border-radius: var(--_radius-small);
      }

      .on greenroom-picture {
        outline: 3px solid var(--_accent);
        outline-offset: -3px;
      }

      .dim greenroom-picture {
        opacity: 0.55;
      }

      label {
        align-items: center;
        block-size: 2.75rem;
        cursor: pointer;
        display: flex;
        inline-size: 2.75rem;
        inset-block-start: 0;
        inset-inline-end: 0;
        justify-content: center;
        position: absolute;
      }

      input {
        block-size: 100%;
        cursor: pointer;
        inline-size: 100%;
        margin: 0;
        opacity: 0;
        position: absolute;
      }

      .mark {
        align-items: center;
        background: rgb(0 0 0 / 38%);
        block-size: 1.625rem;
        border: 2px solid #fff;
        border-radius: 50%;
        color: transparent;
        display: flex;
        inline-size: 1.625rem;
        justify-content: center;
      }

      .mark svg.icon {
        block-size: 1rem;
        inline-size: 1rem;
        stroke-width: 2.6;
      }

      .on .mark {
        background: var(--_accent);
        color: var(--_on-accent);
      }

      input:focus-visible + .mark {
        outline: 2px solid var(--_accent);
        outline-offset: 2px;
      }

      p {
        color: var(--_text-quiet);
        font-size: var(--_size-small);
        margin: calc(var(--_space) * 2) 0 0;
      }

      .fixed {
        inset-block-start: 0.375rem;
        inset-inline-end: 0.375rem;
        position: absolute;
      }
    `,
  ];

  @property({ attribute: false }) files: readonly StoredFile[] = [];
  @property({ attribute: false }) chosen: readonly string[] = [];
  /** The viewer may choose now, and at most so many. */
  @property({ attribute: false }) canChoose = false;
  @property({ attribute: false }) most = Infinity;
  /** What should change, by picture. */
  @property({ attribute: false }) notes: readonly PictureNote[] = [];
  @state() private viewing: string | null = null;

  /** Where somebody is sent who has chosen nothing yet. */
  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>('input, button')?.focus();
  }

  protected override render(): TemplateResult {
    const words = this.fileWords;
    const { files, chosen, canChoose } = this;
    return html`<ul aria-label=${words.proofs}>
        ${repeat(
          files,
          ({ id }) => id,
          (file, at) => this.#tile(file, at),
        )}
      </ul>
      ${
        canChoose || chosen.length > 0
          ? html`<p role="status">${words.chosenCount(chosen.length)}</p>`
          : nothing
      }
      ${this.notes.length > 0 ? this.#notes() : nothing}
      ${
        this.viewing
          ? html`<greenroom-lightbox
              .items=${files.map((file) => ({ file, local: null, isVideo: file.media === 'video' }))}
              .index=${files.findIndex(({ id }) => id === this.viewing)}
              @close=${() => (this.viewing = null)}
            ></greenroom-lightbox>`
          : nothing
      }`;
  }

  /** In the order of the gallery, each with its picture. */
  #notes(): TemplateResult {
    const words = this.fileWords;
    const { files, notes } = this;
    return html`<h4>${words.notes}</h4>
      <ol class="notes">
        ${notes.map(({ file_id, note }) => {
          const at = files.findIndex(({ id }) => id === file_id);
          const file = files[at];
          if (!file) return nothing;
          const called = words.proofOf(at + 1, files.length);
          return html`<li>
            <greenroom-picture
              .file=${file}
              .called=${called}
              .sizes=${'3rem'}
              @open=${() => void this.#view(file.id)}
            ></greenroom-picture>
            <span dir="auto">${note}</span>
          </li>`;
        })}
      </ol>`;
  }

  #tile(file: StoredFile, at: number): TemplateResult {
    const words = this.fileWords;
    const { canChoose, chosen, files } = this;
    const called = words.proofOf(at + 1, files.length);
    const isOn = chosen.includes(file.id);
    const isDim = !canChoose && chosen.length > 0 && !isOn;
    return html`<li class="${isOn ? 'on' : ''} ${isDim ? 'dim' : ''}">
      <greenroom-picture
        .file=${file}
        .called=${called}
        .sizes=${'8rem'}
        @open=${() => void this.#view(file.id)}
      ></greenroom-picture>
      ${
        this.notes.some(({ file_id }) => file_id === file.id)
          ? html`<span class="noted" role="img" aria-label=${words.hasNote}>${icon('edit')}</span>`
          : nothing
      }
      ${canChoose ? this.#choice(file, called, isOn) : nothing}
      ${
        isOn && !canChoose
          ? html`<span class="mark fixed" role="img" aria-label=${words.chosen}
              >${icon('check')}</span
            >`
          : nothing
      }
    </li>`;
  }

  #choice({ id }: StoredFile, called: string, isOn: boolean): TemplateResult {
    const isFull = !isOn && this.chosen.length >= this.most;
    return html`<label
      ><input
        type="checkbox"
        aria-label=${this.fileWords.choose(called)}
        .checked=${isOn}
        ?disabled=${isFull}
        @change=${() => this.#toggle(id)}
      /><span class="mark" aria-hidden="true">${icon('check')}</span></label
    >`;
  }

  #toggle(id: string): void {
    const { chosen, files } = this;
    const isOn = chosen.includes(id);
    const next = files
      .map((file) => file.id)
      .filter((each) => (each === id ? !isOn : chosen.includes(each)));
    this.dispatchEvent(new CustomEvent('chosen', { detail: { chosen: next } }));
  }

  async #view(id: string): Promise<void> {
    try {
      await import('./lightbox.ts');
      this.viewing = id;
    } catch {
      return;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-proofs': GreenroomProofs;
  }
}
