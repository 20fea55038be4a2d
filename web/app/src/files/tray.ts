/** What is about to be sent, above the composer: in order, each with its progress. */

import type { SendFile, Thread, Upload } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';

import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import './attach.ts';
import { FilesElement } from './element.ts';
import { fileIcon } from './icons.ts';
import { mediaOf, moved, type Refused, sizeText, sortOut, typeText } from './media.ts';
import { trayStyles } from './tray_styles.ts';

/** Fires `files-changed` with how many there are. */
@customElement('greenroom-tray')
export class GreenroomTray extends FilesElement {
  static override styles = [...([GreenroomElement.styles].flat() as []), trayStyles];

  @property({ attribute: false }) thread: Thread | null = null;
  @state() private problems: readonly string[] = [];
  @state() private describing: Upload | null = null;
  @state() private dragged: string | null = null;
  @state() private isRecording = false;
  #told = '';

  protected override joined(session: Session): Stop[] {
    const { works } = this;
    const redraw = (): void => this.requestUpdate();
    return [
      ...super.joined(session),
      works?.onChange(redraw) ?? (() => {}),
      session.client.on('send', redraw),
      session.onChange(redraw),
    ];
  }

  /** Chosen, pasted or dropped. What cannot be sent is told by name. */
  async add(chosen: readonly File[]): Promise<void> {
    const { thread, works } = this;
    if (!thread || !works) return;
    const { taken, refused } = sortOut(chosen, this.#uploads.length, this.limits);
    this.problems = [...new Set(refused.map((each) => this.#sayRefused(each)))];
    for (const file of taken) await works.add(thread.id, file);
    if (taken.length > 0) announce(this.fileWords.added(this.#uploads.length));
  }

  /** The files of a message that is sent now. */
  take(): SendFile[] {
    const { works } = this;
    const uploads = this.#uploads;
    this.problems = [];
    for (const { id } of uploads) {
      works?.leftover.delete(id);
      works?.uploads.resume(id);
    }
    return uploads.map(({ id, file }) => ({ uploadId: id, ...(file ? { fileId: file.id } : {}) }));
  }

  /** Shows the recorder, which sends by itself. */
  async record(): Promise<void> {
    try {
      await import('./recorder.ts');
      this.isRecording = true;
    } catch {
      announce(this.words.look.unreachable);
    }
  }

  get #uploads(): Upload[] {
    return this.thread && this.works ? this.works.tray(this.thread.id) : [];
  }

  #sayRefused({ name, why }: Refused): string {
    const words = this.fileWords;
    const { file_bytes: bytes = 0, attachments: most = 10 } = this.limits ?? {};
    if (why === 'too_many') return words.tooMany(most);
    return why === 'empty'
      ? words.isEmpty(name)
      : words.tooLarge(name, sizeText(bytes, this.format.locale));
  }

  protected override updated(): void {
    const uploads = this.#uploads;
    const detail = {
      count: uploads.length,
      hasRefused: uploads.some(({ state }) => state === 'failed'),
    };
    if (JSON.stringify(detail) === this.#told) return;
    this.#told = JSON.stringify(detail);
    this.dispatchEvent(new CustomEvent('files-changed', { detail }));
  }

  protected override render(): TemplateResult {
    const uploads = this.#uploads;
    if (this.isRecording && this.thread) return this.#recorder(this.thread);
    return html`${this.problems.map((text) => html`<p class="problem small" role="alert">${text}</p>`)}
    ${this.#leftover(uploads)}
    ${
      uploads.length === 0
        ? nothing
        : html`<ul class="tiles" aria-label=${this.fileWords.tray}>
            ${repeat(
              uploads,
              ({ id }) => id,
              (upload, at) => this.#tile(upload, at, uploads),
            )}
          </ul>`
    }
    ${this.describing ? this.#description(this.describing) : nothing}`;
  }

  #recorder(thread: Thread): TemplateResult {
    return html`<greenroom-recorder
      .threadId=${thread.id}
      @over=${() => {
        this.isRecording = false;
        this.dispatchEvent(new CustomEvent('recorded'));
      }}
    ></greenroom-recorder>`;
  }

  /** After a reload: what becomes of the files is the person's to say. */
  #leftover(uploads: readonly Upload[]): TemplateResult | typeof nothing {
    const left = uploads.filter(({ id }) => this.works?.leftover.has(id));
    if (left.length === 0) return nothing;
    const words = this.fileWords;
    return html`<div class="leftover" role="status">
      <span>${words.leftover(left.length)}</span>
      <button type="button" class="button plain" @click=${() => this.#drop(left)}>
        ${words.dismiss}
      </button>
      <button type="button" class="button" @click=${() => this.#goOn(left)}>${words.goOn}</button>
    </div>`;
  }

  #tile(upload: Upload, at: number, all: readonly Upload[]): TemplateResult {
    const words = this.fileWords;
    const media = mediaOf(upload.mime);
    const local = this.works?.localOf(upload.id);
    const standing = this.#standing(upload);
    return html`<li
      class="tile ${upload.state} ${this.dragged === upload.id ? 'dragged' : ''}"
      tabindex="0"
      draggable="true"
      data-id=${upload.id}
      aria-label=${`${upload.name}, ${standing}, ${words.place(at + 1, all.length)}`}
      aria-description=${words.moveHint}
      @keydown=${(event: KeyboardEvent) => this.#key(event, upload, at)}
      @dragstart=${(event: DragEvent) => this.#grab(event, upload)}
      @dragover=${(event: DragEvent) => this.#over(event, at)}
      @dragend=${() => (this.dragged = null)}
    >
      <div class="look">
        ${
          media === 'image' && local
            ? html`<img alt="" draggable="false" src=${local.url} />`
            : html`<span class="type">${typeText(upload.name, upload.mime)}</span>
                <span class="name">${upload.name}</span>`
        }
      </div>
      ${this.#meter(upload, standing)} ${this.#deed(upload)}
      <button
        type="button"
        class="round remove"
        tabindex="-1"
        aria-label=${words.remove(upload.name)}
        title=${words.remove(upload.name)}
        @click=${() => void this.#remove(upload, at)}
      >
        ${icon('close')}
      </button>
      ${media === 'image' ? this.#describeButton(upload) : nothing}
    </li>`;
  }

  #standing({ state, sentBytes, bytes, problem, file }: Upload): string {
    const words = this.fileWords;
    if (state === 'uploading') return words.uploading(this.#percent(sentBytes / bytes));
    if (state === 'failed') {
      const why = words.reasons[file?.reason ?? ''] ?? words.problems[problem?.code ?? ''];
      return why ?? words.failed;
    }
    return words[state];
  }

  #percent(part: number): string {
    return new Intl.NumberFormat(this.format.locale, { style: 'percent' }).format(part);
  }

  #meter(
    { state, sentBytes, bytes, name }: Upload,
    standing: string,
  ): TemplateResult | typeof nothing {
    if (state === 'failed')
      return html`<span class="failure" title=${standing}>${icon('warning')}</span>`;
    if (state === 'done') return nothing;
    return html`<progress
      max=${bytes}
      .value=${sentBytes}
      aria-label=${`${name}, ${standing}`}
    ></progress>`;
  }

  #deed({ id, state, name }: Upload): TemplateResult | typeof nothing {
    const words = this.fileWords;
    const uploads = this.works?.uploads;
    const button = (label: string, sign: TemplateResult, run: () => void): TemplateResult =>
      html`<button
        type="button"
        class="round deed"
        tabindex="-1"
        aria-label=${label}
        title=${label}
        @click=${run}
      >
        ${sign}
      </button>`;
    if (state === 'waiting' || state === 'uploading') {
      return button(words.pause(name), fileIcon('pause'), () => uploads?.pause(id));
    }
    if (state === 'paused') {
      return button(words.resume(name), fileIcon('play'), () => uploads?.resume(id));
    }
    return state === 'failed'
      ? button(words.retry(name), icon('retry'), () => uploads?.resume(id))
      : nothing;
  }

  #describeButton(upload: Upload): TemplateResult {
    const words = this.fileWords;
    const isDescribed = Boolean(upload.about['alt']);
    return html`<button
      type="button"
      class="describe ${isDescribed ? 'has' : ''}"
      aria-label=${`${words.describe}: ${upload.name}`}
      @click=${() => void this.#describe(upload)}
    >
      ${isDescribed ? html`${icon('check')}${words.described}` : words.describe}
    </button>`;
  }

  #description(upload: Upload): TemplateResult {
    const words = this.fileWords;
    const local = this.works?.localOf(upload.id);
    return html`<greenroom-dialog
      open
      .heading=${words.describeHeading}
      close-label=${this.words.look.close}
      @close=${() => this.#described(upload, null)}
    >
      <form class="description" @submit=${(event: Event) => this.#saveDescription(event, upload)}>
        ${local ? html`<img alt="" src=${local.url} />` : nothing}
        <label for="alt">${words.describeLabel}</label>
        <textarea
          class="field"
          id="alt"
          rows="3"
          dir="auto"
          maxlength="500"
          aria-describedby="why"
          .value=${typeof upload.about['alt'] === 'string' ? upload.about['alt'] : ''}
        ></textarea>
        <p class="quiet small" id="why">${words.describeHint}</p>
        <div class="end"><button class="button primary">${words.saveDescription}</button></div>
      </form>
    </greenroom-dialog>`;
  }

  async #describe(upload: Upload): Promise<void> {
    try {
      await import('../look/dialog.ts');
      this.describing = upload;
      await this.updateComplete;
      this.renderRoot.querySelector('textarea')?.focus();
    } catch {
      announce(this.words.look.unreachable);
    }
  }

  #saveDescription(event: Event, upload: Upload): void {
    event.preventDefault();
    const field = (event.target as HTMLElement).querySelector('textarea');
    this.#described(upload, field?.value.trim() ?? '');
  }

  /** One that is there already is told at once, another with the end of its upload. */
  #described(upload: Upload, alt: string | null): void {
    this.describing = null;
    const { works } = this;
    if (alt === null || !works) return;
    works.uploads.note(upload.id, { alt });
    const file = works.uploads.find(upload.id)?.file;
    if (file) void works.files.describe(file.id, alt).catch(() => {});
    this.#focus(upload.id);
  }

  #focus(id: string | undefined): void {
    void this.updateComplete.then(() => {
      const found =
        id && this.renderRoot.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
      if (found) found.focus();
      else this.dispatchEvent(new CustomEvent('emptied'));
    });
  }

  #key(event: KeyboardEvent, upload: Upload, at: number): void {
    if (event.target !== event.currentTarget) return;
    const forward = this.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight';
    const steps: Record<string, number> = {
      [forward]: 1,
      [forward === 'ArrowRight' ? 'ArrowLeft' : 'ArrowRight']: -1,
    };
    const step = steps[event.key];
    if (step !== undefined) this.#move(upload, at, at + step);
    else if (event.key === 'Delete' || event.key === 'Backspace') void this.#remove(upload, at);
    else if (event.key === ' ' || event.key === 'Enter') this.#toggle(upload);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #toggle({ id, state }: Upload): void {
    if (state === 'waiting' || state === 'uploading') this.works?.uploads.pause(id);
    else this.works?.uploads.resume(id);
  }

  #move(upload: Upload, from: number, to: number): void {
    const list = moved(this.#uploads, from, to);
    this.works?.reorder(list);
    announce(this.fileWords.movedTo(upload.name, list.indexOf(upload) + 1, list.length));
    this.#focus(upload.id);
  }

  async #remove(upload: Upload, at: number): Promise<void> {
    const next = this.#uploads[at + 1] ?? this.#uploads[at - 1];
    this.problems = [];
    await this.works?.uploads.cancel(upload.id);
    this.#focus(next?.id);
  }

  #grab(event: DragEvent, upload: Upload): void {
    this.dragged = upload.id;
    event.dataTransfer?.setData('text/plain', upload.name);
    event.stopPropagation();
  }

  #over(event: DragEvent, at: number): void {
    const uploads = this.#uploads;
    const from = uploads.findIndex(({ id }) => id === this.dragged);
    if (from < 0) return;
    event.preventDefault();
    event.stopPropagation();
    if (from !== at) this.works?.reorder(moved(uploads, from, at));
  }

  #goOn(left: readonly Upload[]): void {
    for (const { id } of left) {
      this.works?.leftover.delete(id);
      this.works?.uploads.resume(id);
    }
    this.requestUpdate();
  }

  #drop(left: readonly Upload[]): void {
    for (const { id } of left) void this.works?.uploads.cancel(id);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-tray': GreenroomTray;
  }
}
