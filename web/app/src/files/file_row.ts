/** A file that is downloaded rather than shown: what it is, how large, and the way to it. */

import type { StoredFile, Upload } from '@greenroom/sdk';
import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';

import { icon } from '../look/icons.ts';
import { GreenroomElement } from '../session/element.ts';
import { downloadOf, isStale, sourcesOf } from './addresses.ts';
import { FilesElement } from './element.ts';
import { fileIcon } from './icons.ts';
import { sizeText, typeText } from './media.ts';
import { whyWithheld } from './picture.ts';

@customElement('greenroom-file-row')
export class GreenroomFileRow extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        display: block;
      }

      .row {
        align-items: center;
        background: color-mix(in oklab, currentcolor 6%, transparent);
        border-radius: calc(var(--_radius-bubble) - 4px);
        color: inherit;
        display: flex;
        gap: calc(var(--_space) * 2.5);
        min-block-size: 3.5rem;
        padding: calc(var(--_space) * 2);
        text-decoration: none;
      }

      a.row:hover {
        background: color-mix(in oklab, currentcolor 10%, transparent);
      }

      .sign {
        align-items: center;
        background: color-mix(in oklab, currentcolor 10%, transparent);
        block-size: 2.5rem;
        border-radius: var(--_radius-small);
        display: flex;
        flex: none;
        font-size: 0.6875rem;
        font-weight: 700;
        inline-size: 2.5rem;
        justify-content: center;
        letter-spacing: 0.02em;
        overflow: hidden;
      }

      .sign img {
        block-size: 100%;
        inline-size: 100%;
        object-fit: cover;
        object-position: top;
      }

      .text {
        flex: 1;
        line-height: 1.3;
        min-inline-size: 0;
      }

      .name {
        display: block;
        font-weight: 500;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }

      .about {
        display: block;
        font-size: var(--_size-small);
        opacity: 0.78;
      }

      progress {
        accent-color: var(--_accent);
        block-size: 4px;
        display: block;
        inline-size: 100%;
        margin-block-start: var(--_space);
      }
    `,
  ];

  @property({ attribute: false }) file: StoredFile | null = null;
  @property({ attribute: false }) upload: Upload | null = null;
  @property({ attribute: false }) name = '';
  @property({ attribute: false }) mime = '';

  protected override render(): TemplateResult {
    const { file, upload } = this;
    const rendition = file?.state === 'ready' ? downloadOf(this.reached(file)) : null;
    const isWithheld = file && !['ready', 'processing', 'uploading'].includes(file.state);
    const inside = html`${this.#sign()}
      <span class="text"
        ><span class="name"><bdi>${this.name}</bdi></span
        ><span class="about"
          >${isWithheld ? whyWithheld(file, this.fileWords, this.userId) : this.#about()}</span
        >${
          upload && upload.state !== 'done'
            ? html`<progress
                max=${upload.bytes}
                .value=${upload.sentBytes}
                aria-label=${this.name}
              ></progress>`
            : nothing
        }</span
      >`;
    if (!rendition) return html`<div class="row">${inside}</div>`;
    return html`<a
      class="row"
      href=${rendition.url}
      download=${this.name}
      target="_blank"
      rel="noopener"
      @click=${this.#download}
      ><span class="visually-hidden">${this.fileWords.downloadShort}</span>
      ${inside}${fileIcon('download')}</a
    >`;
  }

  #sign(): TemplateResult {
    const sources = this.file && sourcesOf(this.reached(this.file), ['thumb']);
    const isShown = sources && this.file && !isStale(this.file, this.nowMs);
    if (isShown) {
      return html`<span class="sign"><img alt="" loading="lazy" src=${sources.src} /></span>`;
    }
    const type = typeText(this.name, this.mime);
    return html`<span class="sign" aria-hidden="true">${type || icon('document')}</span>`;
  }

  #about(): string {
    const { file, upload } = this;
    const bytes = file?.bytes ?? upload?.bytes;
    const size = bytes === undefined ? '' : sizeText(bytes, this.format.locale);
    const isWaiting = file?.state === 'processing' ? this.fileWords.processing : '';
    return [typeText(this.name, this.mime), size, isWaiting].filter(Boolean).join(' · ');
  }

  /** An address that has ended is asked for anew first. */
  readonly #download = async (event: Event): Promise<void> => {
    const { file, works } = this;
    if (!file || !works || !isStale(file, this.nowMs)) return;
    event.preventDefault();
    this.file = await works.files.get(file.id).catch(() => file);
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>('a.row')?.click();
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-file-row': GreenroomFileRow;
  }
}
