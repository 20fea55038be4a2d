/** Pictures as large as the window, one after the other: keys, swipes, zoom, download. */

import type { StoredFile } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { icon } from '../look/icons.ts';
import { GreenroomElement } from '../session/element.ts';
import { downloadOf, isStale, largestOf, playableOf } from './addresses.ts';
import { FilesElement } from './element.ts';
import { distance, dragged, type Place, type Point, swipe, WHOLE, zoomed } from './gestures.ts';
import { fileIcon } from './icons.ts';
import { ratioOf } from './layout.ts';
import { lightboxStyles } from './lightbox_styles.ts';
import './picture.ts';
import type { Local } from './works.ts';

const STEP = 1.5;
const DOUBLE = 2.5;

export interface Viewed {
  readonly file: StoredFile | null;
  readonly local: Local | null;
  readonly isVideo: boolean;
}

/** Fires `close`. The browser keeps the focus inside and gives it back. */
@customElement('greenroom-lightbox')
export class GreenroomLightbox extends FilesElement {
  static override styles = [...([GreenroomElement.styles].flat() as []), lightboxStyles];

  @property({ attribute: false }) items: readonly Viewed[] = [];
  @property({ attribute: false }) index = 0;
  @state() private place: Place = WHOLE;
  /** Files that were asked for again, by id. */
  @state() private fresh: ReadonlyMap<string, StoredFile> = new Map();
  @query('dialog') private dialog!: HTMLDialogElement;
  @query('.stage') private stage!: HTMLElement;
  @query('.stage img') private img!: HTMLElement | null;
  readonly #fingers = new Map<number, Point>();
  #moved: Point = { x: 0, y: 0 };

  protected override firstUpdated(): void {
    this.dialog.showModal();
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    if (changed.has('index')) this.place = WHOLE;
    const { file } = this.#shown;
    if (file && isStale(file, this.nowMs)) void this.#refresh(file);
  }

  protected override updated(): void {
    const { scale, x, y } = this.place;
    if (this.img) this.img.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
  }

  get #shown(): Viewed {
    const { items, index } = this;
    const item = items[index] ?? { file: null, local: null, isVideo: false };
    const file = this.fresh.get(item.file?.id ?? '') ?? item.file;
    return { ...item, file: file && this.reached(file) };
  }

  protected override render(): TemplateResult {
    const words = this.fileWords;
    const { items, index } = this;
    const shown = this.#shown;
    const isSeveral = items.length > 1;
    return html`<dialog
      aria-label=${words.viewer}
      @close=${this.#closed}
      @keydown=${this.#key}
      @click=${this.#outside}
    >
      <div
        class="stage ${this.place.scale > 1 ? 'zoomed' : ''}"
        @pointerdown=${this.#down}
        @pointermove=${this.#move}
        @pointerup=${this.#up}
        @pointercancel=${this.#up}
        @wheel=${this.#wheel}
        @dblclick=${this.#double}
      >
        ${this.#picture(shown)}
      </div>
      <header>
        <span class="count" aria-live="polite">
          ${isSeveral ? html`${index + 1} / ${items.length}` : nothing}
          <span class="visually-hidden">${words.photoOf(index + 1, items.length)}</span>
        </span>
        ${this.#tools(shown)}
        <button
          class="icon-button"
          aria-label=${words.close}
          title=${words.close}
          @click=${this.#hide}
        >
          ${icon('close')}
        </button>
      </header>
      ${isSeveral ? this.#arrows() : nothing}
      ${shown.file?.alt ? html`<p class="caption" dir="auto">${shown.file.alt}</p>` : nothing}
    </dialog>`;
  }

  #picture({ file, local, isVideo }: Viewed): TemplateResult {
    const words = this.fileWords;
    const isClear = file?.state !== 'ready' || file.visibility === 'clear';
    if (!isClear || (file && !local && !largestOf(file))) {
      return html`<greenroom-picture
        .file=${file}
        .called=${words.photo}
        .ratio=${ratioOf(file?.width, file?.height)}
      ></greenroom-picture>`;
    }
    const playable = isVideo && file ? playableOf(file) : null;
    if (isVideo) {
      return html`<video
        controls
        autoplay
        playsinline
        src=${playable?.url ?? local?.url ?? nothing}
        aria-label=${file?.alt ?? words.video}
      ></video>`;
    }
    const sources = local ? null : file && largestOf(file);
    return html`<img
      alt=${file?.alt ?? words.photo}
      draggable="false"
      src=${local?.url ?? sources?.src ?? nothing}
    />`;
  }

  #tools({ file, isVideo }: Viewed): TemplateResult {
    const words = this.fileWords;
    const rendition = file?.state === 'ready' ? downloadOf(file) : null;
    const isLarge = this.place.scale > 1;
    const zoom = isLarge ? words.zoomOut : words.zoomIn;
    return html`${
      isVideo
        ? nothing
        : html`<button
            class="icon-button"
            aria-label=${zoom}
            title=${zoom}
            @click=${() => (this.place = isLarge ? WHOLE : zoomed(this.place, DOUBLE))}
          >
            ${fileIcon(isLarge ? 'shrink' : 'zoom')}
          </button>`
    }${
      file && rendition
        ? html`<a
            class="icon-button"
            href=${rendition.url}
            download=${file.name}
            target="_blank"
            rel="noopener"
            aria-label=${words.download(file.name)}
            title=${words.downloadShort}
            >${fileIcon('download')}</a
          >`
        : nothing
    }`;
  }

  #arrows(): TemplateResult {
    const words = this.fileWords;
    const { index, items } = this;
    return html`<button
        class="icon-button arrow before"
        aria-label=${words.previous}
        ?disabled=${index === 0}
        @click=${() => this.#go(-1)}
      >
        ${icon('back')}</button
      ><button
        class="icon-button arrow after"
        aria-label=${words.next}
        ?disabled=${index === items.length - 1}
        @click=${() => this.#go(1)}
      >
        ${icon('forward')}
      </button>`;
  }

  #go(by: number): void {
    this.index = Math.min(this.items.length - 1, Math.max(0, this.index + by));
  }

  readonly #key = (event: KeyboardEvent): void => {
    const isRtl = this.dir === 'rtl';
    const deeds: Record<string, () => void> = {
      ArrowRight: () => this.#go(isRtl ? -1 : 1),
      ArrowLeft: () => this.#go(isRtl ? 1 : -1),
      Home: () => this.#go(-Infinity),
      End: () => this.#go(Infinity),
      '+': () => (this.place = zoomed(this.place, STEP)),
      '-': () => (this.place = zoomed(this.place, 1 / STEP)),
      '0': () => (this.place = WHOLE),
    };
    const deed = deeds[event.key];
    event.stopPropagation();
    if (!deed || event.target instanceof HTMLVideoElement) return;
    event.preventDefault();
    deed();
  };

  #fromMiddle({ clientX, clientY }: MouseEvent): Point {
    const { left, top, width, height } = this.stage.getBoundingClientRect();
    return { x: clientX - left - width / 2, y: clientY - top - height / 2 };
  }

  readonly #wheel = (event: WheelEvent): void => {
    event.preventDefault();
    this.place = zoomed(this.place, Math.exp(-event.deltaY / 300), this.#fromMiddle(event));
  };

  readonly #double = (event: MouseEvent): void => {
    const isLarge = this.place.scale > 1;
    this.place = isLarge ? WHOLE : zoomed(this.place, DOUBLE, this.#fromMiddle(event));
  };

  readonly #down = (event: PointerEvent): void => {
    if (event.target instanceof HTMLVideoElement) return;
    this.stage.setPointerCapture(event.pointerId);
    this.#fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.#moved = { x: 0, y: 0 };
  };

  readonly #move = (event: PointerEvent): void => {
    const before = this.#fingers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const by = { x: now.x - before.x, y: now.y - before.y };
    const other = [...this.#fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.#fingers.set(event.pointerId, now);
    if (other) {
      const factor = distance(now, other) / Math.max(1, distance(before, other));
      this.place = zoomed(this.place, factor, this.#fromMiddle(event));
    } else if (this.place.scale > 1) {
      this.place = dragged(this.place, by, this.stage.getBoundingClientRect());
    } else {
      this.#moved = { x: this.#moved.x + by.x, y: this.#moved.y + by.y };
    }
  };

  readonly #up = (event: PointerEvent): void => {
    const wasAlone = this.#fingers.size === 1;
    this.#fingers.delete(event.pointerId);
    if (!wasAlone || this.place.scale > 1 || event.type === 'pointercancel') return;
    const wish = swipe(this.#moved, this.dir === 'rtl');
    if (wish === 'next') this.#go(1);
    if (wish === 'previous') this.#go(-1);
    if (wish === 'close' && event.pointerType === 'touch') this.#hide();
  };

  async #refresh(file: StoredFile): Promise<void> {
    if (this.fresh.has(file.id)) return;
    this.fresh = new Map(this.fresh).set(file.id, file);
    const now = await this.works?.files.get(file.id).catch(() => null);
    if (now) this.fresh = new Map(this.fresh).set(file.id, now);
  }

  readonly #hide = (): void => this.dialog.close();

  /** Beside the picture: the stage has the whole window, and a click there may begin a drag. */
  readonly #outside = (event: MouseEvent): void => {
    if (event.target === this.dialog) this.dialog.close();
  };

  readonly #closed = (): void => {
    this.dispatchEvent(new Event('close'));
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-lightbox': GreenroomLightbox;
  }
}
