/** The files of a message, or of a send that waits: pictures in a grid, sounds, and rows of files. */

import type { Attachment, Media, Send, StoredFile, Upload } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';

import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { FilesElement } from './element.ts';
import './file_row.ts';
import { sourcesOf } from './addresses.ts';
import { ratioOf, tilesOf } from './layout.ts';
import { isPicture, mediaOf } from './media.ts';
import './picture.ts';
import './send_state.ts';
import './sound.ts';
import type { Local } from './works.ts';

const WIDTH_REM = 22;

interface Item {
  readonly key: string;
  readonly name: string;
  readonly mime: string;
  readonly media: Media;
  readonly file: StoredFile | null;
  readonly upload: Upload | null;
  readonly local: Local | null;
}

@customElement('greenroom-attachments')
export class GreenroomAttachments extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        display: grid;
        gap: calc(var(--_space) * 1);
        inline-size: 17rem;
        max-inline-size: 100%;
      }

      :host([wide]) {
        inline-size: 22rem;
      }

      .grid {
        border-radius: calc(var(--_radius-bubble) - 4px);
        display: grid;
        gap: 3px;
        grid-template-columns: repeat(6, 1fr);
        overflow: hidden;
        position: relative;
      }

      .grid > * {
        grid-column: span 2;
        min-inline-size: 0;
        position: relative;
      }

      .grid .half {
        grid-column: span 3;
      }

      .grid .lead {
        grid-column: span 4;
        grid-row: span 2;
      }

      .grid .only {
        grid-column: 1 / -1;
      }

      .third greenroom-picture {
        aspect-ratio: 1;
      }

      .half greenroom-picture {
        aspect-ratio: 4 / 3;
      }

      .lead greenroom-picture {
        block-size: 100%;
      }

      progress {
        accent-color: var(--_accent);
        block-size: 4px;
        inline-size: calc(100% - 1rem);
        inset-block-end: 0.5rem;
        inset-inline: 0.5rem;
        position: absolute;
      }

      progress::-webkit-progress-bar {
        background: rgb(0 0 0 / 35%);
        border-radius: 2px;
      }

      progress::-webkit-progress-value {
        background: #fff;
        border-radius: 2px;
      }
    `,
  ];

  @property({ attribute: false }) attachments: readonly Attachment[] = [];
  @property({ attribute: false }) send: Send | null = null;
  /** Files without a message, such as those of a card. */
  @property({ attribute: false }) files: readonly StoredFile[] | null = null;
  @property({ type: Boolean, reflect: true }) wide = false;
  @state() private viewing: string | null = null;
  @state() private ratio = 0;

  protected override joined(session: Session): Stop[] {
    const stop = this.works?.onChange(() => {
      if (this.send) this.requestUpdate();
    });
    return [...super.joined(session), stop ?? (() => {})];
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    const items = this.#items();
    this.wide = items.some(isSeen);
    this.#keepShape(items);
  }

  /** One picture has a shape of its own. The one that was drawn first stays: nothing around it moves
   * when the picture comes, whatever size it turns out to have. */
  #keepShape(items: readonly Item[]): void {
    const [only] = items.filter(isSeen);
    if (this.ratio || !only || items.length > 1) return;
    const { file, local } = only;
    this.ratio = ratioOf(file?.width ?? local?.width, file?.height ?? local?.height);
    this.style.inlineSize = `${WIDTH_REM * Math.min(1, this.ratio)}rem`;
  }

  #items(): Item[] {
    const { works, send } = this;
    const sent = send?.files ?? [];
    if (this.files) return this.files.map((file) => itemOf(file, works?.localOf(file.id) ?? null));
    if (send) return sent.map(({ uploadId, fileId }, at) => this.#waiting(uploadId ?? fileId, at));
    return this.attachments.map(({ file }) => itemOf(file, works?.localOf(file.id) ?? null));
  }

  #waiting(id: string | undefined, at: number): Item {
    const upload = (id && this.works?.uploads.find(id)) || null;
    const mime = upload?.mime ?? '';
    const local = this.works?.localOf(id) ?? null;
    const media = upload ? mediaOf(mime) : 'image';
    return {
      key: id ?? String(at),
      name: upload?.name ?? '',
      mime,
      media,
      file: null,
      upload,
      local,
    };
  }

  protected override render(): TemplateResult {
    const items = this.#items();
    const seen = items.filter(isSeen);
    const heard = items.filter(({ media }) => media === 'audio');
    const rows = items.filter((item) => !isSeen(item) && item.media !== 'audio');
    return html`${seen.length > 0 ? this.#grid(seen) : nothing}
    ${heard.map((item) => this.#sound(item))} ${rows.map((item) => this.#row(item))}
    ${this.viewing ? this.#viewer(seen, this.viewing) : nothing}`;
  }

  #grid(items: readonly Item[]): TemplateResult {
    const tiles = items.length === 1 ? ['only'] : tilesOf(items.length);
    return html`<div class="grid">
      ${repeat(
        items,
        ({ key }) => key,
        (item, at) =>
          html`<div class=${tiles[at] ?? 'third'}>${this.#picture(item, at, items.length)}</div>`,
      )}
    </div>`;
  }

  #picture(item: Item, at: number, count: number): TemplateResult {
    const words = this.fileWords;
    const isVideo = item.media === 'video';
    const plain = isVideo ? words.video : words.photo;
    const called = count > 1 ? words.photoOf(at + 1, count) : plain;
    const { upload } = item;
    return html`<greenroom-picture
        .ratio=${count === 1 ? this.ratio : 0}
        .file=${item.file}
        .local=${item.local}
        .called=${called}
        .isVideo=${isVideo}
        .sizes=${count === 1 ? '22rem' : '11rem'}
        @open=${() => void this.#view(item.key)}
      ></greenroom-picture>
      ${upload && upload.state !== 'done' ? progress(upload, called) : nothing}`;
  }

  #sound({ file, upload, local }: Item): TemplateResult {
    return html`<greenroom-sound
      .file=${file}
      .local=${local}
      .about=${upload?.about ?? null}
    ></greenroom-sound>`;
  }

  #row({ file, upload, name, mime }: Item): TemplateResult {
    return html`<greenroom-file-row
      .file=${file}
      .upload=${upload}
      .name=${name}
      .mime=${mime}
    ></greenroom-file-row>`;
  }

  #viewer(items: readonly Item[], key: string): TemplateResult {
    return html`<greenroom-lightbox
      .items=${items.flatMap(({ file, local, media }) =>
        file || local ? [{ file, local, isVideo: media === 'video' }] : [],
      )}
      .index=${items.findIndex((item) => item.key === key)}
      @close=${() => (this.viewing = null)}
    ></greenroom-lightbox>`;
  }

  async #view(key: string): Promise<void> {
    try {
      await import('./lightbox.ts');
      this.viewing = key;
    } catch {
      return;
    }
  }
}

function itemOf(file: StoredFile, local: Local | null): Item {
  const { id, name, mime, media } = file;
  return { key: id, name, mime, media, file, upload: null, local };
}

/** What is shown rather than listed. A picture of which nothing could be made is a file. */
function isSeen({ media, mime, file, local }: Item): boolean {
  const isBare = file?.state === 'ready' && file.visibility === 'clear' && !local;
  if (isBare && media === 'image' && !sourcesOf(file)) return false;
  return media === 'video' || isPicture(media, mime);
}

function progress({ sentBytes, bytes }: Upload, called: string): TemplateResult {
  return html`<progress max=${bytes} .value=${sentBytes} aria-label=${called}></progress>`;
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-attachments': GreenroomAttachments;
  }
}
