/** A field of a card's form in which each picture of the card can get a note. */

import type { StoredFile } from '@greenroom/sdk';
import { css, html, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';

import { GreenroomElement } from '../session/element.ts';
import { FilesElement } from './element.ts';
import './picture.ts';

export interface PictureNote {
  readonly file_id: string;
  readonly note: string;
}

/** Fires `noted` with those that have one, in the order of the pictures. */
@customElement('greenroom-picture-notes')
export class GreenroomPictureNotes extends FilesElement {
  static override shadowRootOptions = {
    ...GreenroomElement.shadowRootOptions,
    delegatesFocus: true,
  };
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      ol {
        display: grid;
        gap: calc(var(--_space) * 2);
        list-style: none;
        margin: 0;
        padding: 0;
      }

      li {
        align-items: center;
        display: grid;
        gap: calc(var(--_space) * 3);
        grid-template-columns: 4rem minmax(0, 1fr);
      }

      greenroom-picture {
        aspect-ratio: 1;
        border-radius: var(--_radius-small);
        pointer-events: none;
      }

      textarea.field {
        display: block;
        min-block-size: 4rem;
        resize: vertical;
      }
    `,
  ];

  @property({ attribute: false }) files: readonly StoredFile[] = [];
  @property({ attribute: false }) notes: readonly PictureNote[] = [];
  @property({ attribute: false }) longest = 500;

  protected override render(): TemplateResult {
    const words = this.fileWords;
    const { files } = this;
    return html`<ol>
      ${repeat(
        files,
        ({ id }) => id,
        (file, at) => {
          const called = words.proofOf(at + 1, files.length);
          return html`<li>
            <greenroom-picture
              inert
              .file=${file}
              .called=${called}
              .sizes=${'4rem'}
            ></greenroom-picture>
            <textarea
              class="field"
              rows="2"
              dir="auto"
              maxlength=${this.longest}
              aria-label=${words.noteOn(called)}
              placeholder=${words.noteHint}
              .value=${this.#noteOf(file.id)}
              @input=${(event: Event) =>
                this.#note(file.id, (event.target as HTMLTextAreaElement).value)}
            ></textarea>
          </li>`;
        },
      )}
    </ol>`;
  }

  #noteOf(fileId: string): string {
    return this.notes.find(({ file_id }) => file_id === fileId)?.note ?? '';
  }

  #note(fileId: string, text: string): void {
    const notes = this.files
      .map(({ id }) => ({ file_id: id, note: id === fileId ? text : this.#noteOf(id) }))
      .filter(({ note }) => note.trim() !== '');
    this.dispatchEvent(new CustomEvent('noted', { detail: { notes } }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-picture-notes': GreenroomPictureNotes;
  }
}
