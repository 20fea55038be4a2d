/** Beside the composer: the button that attaches files, and the one that records a voice message. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import type { GreenroomMenu, MenuItem } from '../look/menu.ts';
import { GreenroomElement } from '../session/element.ts';
import { FilesElement } from './element.ts';
import { fileIcon } from './icons.ts';

type Source = 'any' | 'photos' | 'camera';

/** Fires `files-chosen` with files, and `record`. */
@customElement('greenroom-attach')
export class GreenroomAttach extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        display: inline-flex;
      }
    `,
  ];

  /** The person is writing: then nobody wants to speak. */
  @property({ attribute: false }) isWriting = false;
  @state() private source: Source = 'any';
  @query('input') private input!: HTMLInputElement;
  @query('greenroom-menu') private menu!: GreenroomMenu;
  @query('.clip') private button!: HTMLElement;

  protected override render(): TemplateResult {
    const words = this.fileWords;
    const { source } = this;
    return html`<button
        type="button"
        class="icon-button clip"
        aria-label=${words.attach}
        title=${words.attach}
        @click=${this.#attach}
      >
        ${fileIcon('clip')}
      </button>
      ${
        this.isWriting || !canRecord()
          ? nothing
          : html`<button
              type="button"
              class="icon-button"
              aria-label=${words.recordVoice}
              title=${words.recordVoice}
              @click=${() => this.dispatchEvent(new Event('record'))}
            >
              ${fileIcon('microphone')}
            </button>`
      }
      <greenroom-menu
        without-button
        .label=${words.attach}
        .items=${this.#items()}
      ></greenroom-menu>
      <input
        type="file"
        hidden
        multiple
        aria-label=${words.attach}
        accept=${source === 'any' ? nothing : 'image/*,video/*'}
        capture=${source === 'camera' ? 'environment' : nothing}
        @change=${this.#chosen}
      />`;
  }

  /** A finger chooses where from; a mouse gets all files at once. */
  readonly #attach = (): void => {
    if (matchMedia('(pointer: coarse)').matches) this.menu.openBy(this.button);
    else void this.#choose('any');
  };

  #items(): MenuItem[] {
    const words = this.fileWords;
    return [
      { label: words.choosePhotos, icon: 'board', run: () => void this.#choose('photos') },
      { label: words.takePhoto, icon: 'camera', run: () => void this.#choose('camera') },
      { label: words.chooseFile, icon: 'document', run: () => void this.#choose('any') },
    ];
  }

  async #choose(source: Source): Promise<void> {
    this.source = source;
    await this.updateComplete;
    this.input.click();
  }

  readonly #chosen = (): void => {
    const files = [...(this.input.files ?? [])];
    this.input.value = '';
    this.dispatchEvent(new CustomEvent('files-chosen', { detail: { files } }));
  };
}

function canRecord(): boolean {
  // Pages that are not served securely have no microphone.
  return 'MediaRecorder' in globalThis && 'mediaDevices' in navigator;
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-attach': GreenroomAttach;
  }
}
