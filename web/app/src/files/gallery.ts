/** All files of a conversation, a page at a time: pictures as tiles, the rest as rows. */

import type { StoredFile } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';

import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { FilesElement } from './element.ts';
import './file_row.ts';
import { isPicture } from './media.ts';
import './picture.ts';
import './sound.ts';

interface Page {
  readonly items: readonly StoredFile[];
  readonly next_cursor: string | null;
}

@customElement('greenroom-gallery')
export class GreenroomGallery extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        display: flex;
        flex-direction: column;
        gap: calc(var(--_space) * 2);
      }

      .tiles {
        border-radius: var(--_radius-small);
        display: grid;
        gap: 3px;
        grid-template-columns: repeat(auto-fill, minmax(5.5rem, 1fr));
        overflow: hidden;
      }

      greenroom-picture {
        aspect-ratio: 1;
      }

      greenroom-sound {
        background: var(--_surface-sunken);
        border-radius: calc(var(--_radius-bubble) - 4px);
      }

      .button {
        align-self: center;
      }
    `,
  ];

  @property({ attribute: false }) threadId = '';
  @property({ attribute: false }) first: Page | null = null;
  @state() private files: readonly StoredFile[] = [];
  @state() private next: string | null = null;
  @state() private viewing: string | null = null;
  @state() private problem = '';
  @state() private isBusy = false;

  protected override joined(session: Session): Stop[] {
    const learn = (file: StoredFile): void => {
      this.files = this.files.map((each) => (each.id === file.id ? file : each));
    };
    return [...super.joined(session), session.client.on('file', learn)];
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    if (!changed.has('first') || !this.first) return;
    this.files = this.first.items;
    this.next = this.first.next_cursor;
  }

  protected override render(): TemplateResult {
    const seen = this.files.filter(isSeen);
    const others = this.files.filter((file) => !isSeen(file));
    return html`${seen.length > 0 ? this.#tiles(seen) : nothing}
    ${others.map((file) =>
      file.media === 'audio'
        ? html`<greenroom-sound .file=${file}></greenroom-sound>`
        : html`<greenroom-file-row
            .file=${file}
            .name=${file.name}
            .mime=${file.mime}
          ></greenroom-file-row>`,
    )}
    ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
    ${
      this.next
        ? html`<button class="button" ?disabled=${this.isBusy} @click=${this.#more}>
            ${this.fileWords.more}
          </button>`
        : nothing
    }`;
  }

  #tiles(seen: readonly StoredFile[]): TemplateResult {
    const words = this.fileWords;
    return html`<div class="tiles">
        ${repeat(
          seen,
          ({ id }) => id,
          (file, at) =>
            html`<greenroom-picture
              .file=${file}
              .called=${words.photoOf(at + 1, seen.length)}
              .isVideo=${file.media === 'video'}
              .sizes=${'8rem'}
              @open=${() => void this.#view(file.id)}
            ></greenroom-picture>`,
        )}
      </div>
      ${
        this.viewing
          ? html`<greenroom-lightbox
              .items=${seen.map((file) => ({ file, local: null, isVideo: file.media === 'video' }))}
              .index=${seen.findIndex(({ id }) => id === this.viewing)}
              @close=${() => (this.viewing = null)}
            ></greenroom-lightbox>`
          : nothing
      }`;
  }

  async #view(id: string): Promise<void> {
    try {
      await import('./lightbox.ts');
      this.viewing = id;
    } catch {
      return;
    }
  }

  readonly #more = async (): Promise<void> => {
    const { works, next, session } = this;
    if (!works || !next) return;
    this.isBusy = true;
    this.problem = '';
    try {
      const page = await works.files.list(this.threadId, { cursor: next });
      this.files = [...this.files, ...page.items];
      this.next = page.next_cursor;
    } catch (error) {
      this.problem = session?.explain(error) ?? '';
    } finally {
      this.isBusy = false;
    }
  };
}

function isSeen({ media, mime }: StoredFile): boolean {
  return media === 'video' || isPicture(media, mime);
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-gallery': GreenroomGallery;
  }
}
