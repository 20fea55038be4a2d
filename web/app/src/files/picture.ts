/** One picture or video at its place, in whatever state it is: `<greenroom-picture>`.
 *
 * Its box has its size before anything has arrived. Fresh addresses of what is shown already do not
 * make it load again. */

import type { StoredFile } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import type { FileWords } from '../i18n/files.ts';
import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import { GreenroomElement } from '../session/element.ts';
import { isStale, lookOf, type PictureSources, sourcesOf } from './addresses.ts';
import { FilesElement } from './element.ts';
import { fileIcon } from './icons.ts';
import { lengthText } from './media.ts';
import type { Local } from './works.ts';

type Look = 'waiting' | 'clear' | 'blurred' | 'hidden' | 'withheld';

/** Fires `open` when somebody wants to see it large. */
@customElement('greenroom-picture')
export class GreenroomPicture extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        background: color-mix(in oklab, currentcolor 8%, transparent);
        display: block;
        overflow: hidden;
        position: relative;
      }

      img {
        block-size: 100%;
        display: block;
        inline-size: 100%;
        object-fit: cover;
      }

      img,
      .over {
        inset: 0;
        position: absolute;
      }

      button.over {
        background: none;
        border: 0;
        color: inherit;
        padding: 0;
      }

      .over:focus-visible {
        border-radius: inherit;
        box-shadow: inset 0 0 0 3px var(--_surface);
        outline-offset: -2px;
        z-index: 1;
      }

      .say {
        align-content: center;
        display: grid;
        font-size: var(--_size-small);
        gap: calc(var(--_space) * 1.5);
        justify-items: center;
        line-height: 1.3;
        overflow: hidden;
        padding: calc(var(--_space) * 2);
        text-align: center;
        text-wrap: balance;
      }

      .say svg.icon {
        block-size: 1.5rem;
        inline-size: 1.5rem;
        opacity: 0.75;
      }

      .blurred .say {
        background: rgb(0 0 0 / 32%);
        color: #fff;
      }

      .show {
        align-items: center;
        background: rgb(255 255 255 / 92%);
        border: 0;
        border-radius: var(--_radius-round);
        color: #1b1d1c;
        display: inline-flex;
        font-weight: 600;
        gap: calc(var(--_space) * 1.5);
        min-block-size: 2rem;
        padding: 0 calc(var(--_space) * 3);
      }

      .badge {
        align-items: center;
        background: rgb(0 0 0 / 58%);
        border-radius: 50%;
        block-size: 3rem;
        color: #fff;
        display: flex;
        inline-size: 3rem;
        inset: calc(50% - 1.5rem) auto auto calc(50% - 1.5rem);
        justify-content: center;
        pointer-events: none;
        position: absolute;
      }

      .length {
        background: rgb(0 0 0 / 58%);
        border-radius: var(--_radius-small);
        color: #fff;
        font-size: var(--_size-tiny);
        font-variant-numeric: tabular-nums;
        inset-block-end: calc(var(--_space) * 1.5);
        inset-inline-start: calc(var(--_space) * 1.5);
        padding: 0 calc(var(--_space) * 1.5);
        pointer-events: none;
        position: absolute;
      }

      /* A narrow tile has room for the sign alone. */
      :host {
        container-type: inline-size;
      }

      @container (max-width: 8rem) {
        .words {
          block-size: 1px;
          clip-path: inset(50%);
          inline-size: 1px;
          overflow: hidden;
          position: absolute;
          white-space: nowrap;
        }
      }

      @media (prefers-reduced-motion: no-preference) {
        .waiting .pulse {
          animation: pulse 1.6s ease-in-out infinite alternate;
        }

        @keyframes pulse {
          from {
            opacity: 0.35;
          }
        }

        img {
          animation: appear 0.18s ease-out;
        }

        @keyframes appear {
          from {
            opacity: 0;
          }
        }
      }

      @media (pointer: coarse) {
        .show {
          min-block-size: 2.75rem;
        }
      }
    `,
  ];

  @property({ attribute: false }) file: StoredFile | null = null;
  @property({ attribute: false }) local: Local | null = null;
  /** What it is called: `Photo 2 of 3`. */
  @property({ attribute: false }) called = '';
  /** Width by height of a picture that has a shape of its own; 0 for one that fills its tile. */
  @property({ attribute: false }) ratio = 0;
  /** How wide it is drawn, for the browser's choice among the sizes. */
  @property({ attribute: false }) sizes = '22rem';
  @property({ attribute: false }) isVideo = false;
  @state() private sources: PictureSources | null = null;
  @state() private isBroken = false;
  @state() private isBusy = false;
  #look = '';
  #hasAsked = false;

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    if (changed.has('ratio') && this.ratio) this.style.aspectRatio = String(this.ratio);
    const { file } = this;
    if (!file || !this.session) return;
    const look = `${file.id} ${lookOf(file)}`;
    const isOther = look !== this.#look;
    if (!isOther && !this.isBroken) return;
    if (isStale(file, this.nowMs)) return void this.#refresh();
    this.#look = look;
    this.sources = sourcesOf(this.reached(file));
    this.isBroken = false;
  }

  get #state(): Look {
    const { file, local } = this;
    if (file?.state === 'ready') return file.visibility;
    if (!file || file.state === 'processing' || file.state === 'uploading') {
      return local && !this.isVideo ? 'clear' : 'waiting';
    }
    return 'withheld';
  }

  protected override render(): TemplateResult {
    const look = this.#state;
    const drawn = {
      waiting: () => this.#waiting(),
      clear: () => this.#clear(),
      blurred: () => this.#blurred(),
      hidden: () => this.#say('hidden', this.fileWords.hidden),
      withheld: () => this.#withheld(),
    };
    return html`<div class=${look}>${drawn[look]()}</div>`;
  }

  #waiting(): TemplateResult {
    const words = this.fileWords;
    return html`<div class="over say" role="img" aria-label="${this.called}, ${words.processing}">
      <span class="pulse">${fileIcon(this.isVideo ? 'play' : 'picture')}</span>
      <span class="words" aria-hidden="true">${words.processing}</span>
    </div>`;
  }

  #clear(): TemplateResult {
    const { local, isVideo, file } = this;
    const words = this.fileWords;
    const isOwn = local !== null && !isVideo;
    const label = [words.open(this.called), file?.alt].filter(Boolean).join(': ');
    const length = isVideo && file?.duration_ms ? lengthText(file.duration_ms) : '';
    return html`${isOwn ? this.#img({ sources: [], src: local.url, srcset: '' }) : this.#img(this.sources)}
      ${isVideo ? html`<span class="badge">${fileIcon('play')}</span>` : nothing}
      ${length ? html`<span class="length">${length}</span>` : nothing}
      <button
        type="button"
        class="over"
        aria-label=${label}
        @click=${() => this.dispatchEvent(new Event('open'))}
      ></button>`;
  }

  #img(sources: PictureSources | null): TemplateResult | typeof nothing {
    if (!sources || this.isBroken) return nothing;
    return html`<picture
      >${sources.sources.map(
        ({ type, srcset }) => html`<source type=${type} srcset=${srcset} sizes=${this.sizes} />`,
      )}<img
        alt=""
        loading="lazy"
        decoding="async"
        draggable="false"
        sizes=${sources.srcset ? this.sizes : nothing}
        srcset=${sources.srcset || nothing}
        src=${sources.src}
        @error=${this.#broke}
    /></picture>`;
  }

  #blurred(): TemplateResult {
    const words = this.fileWords;
    return html`${this.#img(this.sources)}
      <div class="over say">
        <span class="words">${words.sensitive}</span>
        ${
          this.file?.can_reveal
            ? html`<button
                type="button"
                class="show"
                aria-label=${words.showNamed(this.called)}
                ?disabled=${this.isBusy}
                @click=${this.#reveal}
              >
                ${fileIcon('eye')}${words.show}
              </button>`
            : nothing
        }
      </div>`;
  }

  #say(sign: 'hidden' | 'warning', text: string): TemplateResult {
    return html`<div class="over say" role="img" aria-label="${this.called}, ${text}">
      ${sign === 'hidden' ? fileIcon('hidden') : icon('warning')}
      <span class="words" aria-hidden="true">${text}</span>
    </div>`;
  }

  #withheld(): TemplateResult {
    return this.#say('warning', whyWithheld(this.file, this.fileWords, this.userId));
  }

  readonly #reveal = async (): Promise<void> => {
    const { file, works } = this;
    if (!file || !works) return;
    this.isBusy = true;
    try {
      this.file = await works.files.reveal(file.id);
      await this.updateComplete;
      this.renderRoot.querySelector<HTMLElement>('button.over')?.focus();
    } catch (error) {
      announce(this.session?.explain(error) ?? '');
    } finally {
      this.isBusy = false;
    }
  };

  /** An address may have ended early: asked once more, and not for ever. */
  readonly #broke = (): void => {
    if (this.local && !this.isVideo) this.local = null;
    else if (this.#hasAsked) this.isBroken = true;
    else void this.#refresh();
  };

  async #refresh(): Promise<void> {
    const { file, works } = this;
    if (!file || !works || this.#hasAsked) return;
    this.#hasAsked = true;
    try {
      this.file = await works.files.get(file.id);
      this.#look = '';
      // It worked: when these addresses have ended too, it may ask again.
      this.#hasAsked = isStale(this.file, this.nowMs);
    } catch {
      this.isBroken = true;
    }
  }
}

/** Why a file is not shown. Its owner learns the reason. */
export function whyWithheld(file: StoredFile | null, words: FileWords, userId: string): string {
  if (file?.state === 'expired') return words.expired;
  if (file?.owner_id !== userId) return words.withheld;
  const text = file.state === 'quarantined' ? words.quarantined : words.refused;
  return [text, words.reasons[file.reason ?? '']].filter(Boolean).join(' ');
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-picture': GreenroomPicture;
  }
}
