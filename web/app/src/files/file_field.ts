/** A field of a card's form that takes files: the pictures of proofs, the receipt of an expense. */

import type { Purpose, StoredFile, Upload } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';

import { icon } from '../look/icons.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { FilesElement } from './element.ts';
import { fileIcon } from './icons.ts';
import { mediaOf, sizeText, sortOut, typeText } from './media.ts';
import './picture.ts';

@customElement('greenroom-file-field')
export class GreenroomFileField extends FilesElement {
  static override shadowRootOptions = {
    ...GreenroomElement.shadowRootOptions,
    delegatesFocus: true,
  };
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        display: flex;
        flex-direction: column;
        gap: calc(var(--_space) * 2);
      }

      ul {
        display: grid;
        gap: calc(var(--_space) * 2);
        grid-template-columns: repeat(auto-fill, minmax(5.5rem, 1fr));
        list-style: none;
        margin: 0;
        padding: 0;
      }

      li {
        aspect-ratio: 1;
        background: var(--_surface-sunken);
        border: 1px solid var(--_line);
        border-radius: var(--_radius-small);
        overflow: hidden;
        position: relative;
      }

      li.failed {
        border-color: var(--_danger);
      }

      greenroom-picture {
        block-size: 100%;
      }

      img {
        block-size: 100%;
        inline-size: 100%;
        object-fit: cover;
      }

      li:not(.done) img {
        opacity: 0.55;
      }

      .type {
        align-content: center;
        block-size: 100%;
        display: grid;
        font-weight: 700;
        text-align: center;
      }

      progress {
        accent-color: var(--_accent);
        block-size: 5px;
        inset: auto 0.5rem 0.5rem;
        inline-size: calc(100% - 1rem);
        position: absolute;
      }

      .round {
        align-items: center;
        background: var(--_surface-raised);
        block-size: 1.75rem;
        border: 1px solid var(--_line);
        border-radius: 50%;
        display: flex;
        inline-size: 1.75rem;
        inset-block-start: 0.25rem;
        inset-inline-end: 0.25rem;
        justify-content: center;
        padding: 0;
        position: absolute;
      }

      .round.again {
        inset-inline: 0.25rem auto;
      }

      .round svg.icon {
        block-size: 1rem;
        inline-size: 1rem;
      }

      p {
        margin: 0;
      }

      .add {
        align-self: start;
      }

      @media (pointer: coarse) {
        .round {
          block-size: 2.75rem;
          inline-size: 2.75rem;
        }
      }
    `,
  ];

  @property({ attribute: false }) threadId = '';
  @property({ attribute: false }) path = '';
  @property({ attribute: false }) purpose: Purpose = 'proof';
  /** One file, or as many. */
  @property({ attribute: false }) most = 1;
  @property({ attribute: false }) isRequired = false;
  /** Across the previews; another one makes all of them anew. */
  @property({ attribute: false }) watermark = '';
  /** Files that are there already, such as the pictures of the last round. */
  @property({ attribute: false }) kept: readonly StoredFile[] = [];
  @state() private keptIds: readonly string[] = [];
  @state() private ids: readonly string[] = [];
  @state() private problem = '';
  #waiting: (() => void)[] = [];

  protected override joined(session: Session): Stop[] {
    const changed = (): void => {
      this.requestUpdate();
      for (const look of this.#waiting.splice(0)) look();
    };
    return [...super.joined(session), this.works?.onChange(changed) ?? (() => {})];
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    if (changed.has('watermark') && this.hasUpdated) this.#makeAnew();
    if (!this.hasUpdated) this.keptIds = this.kept.map(({ id }) => id);
  }

  get #uploads(): Upload[] {
    return this.ids.flatMap((id) => this.works?.uploads.find(id) ?? []);
  }

  get #kept(): StoredFile[] {
    return this.kept.filter(({ id }) => this.keptIds.includes(id));
  }

  protected override render(): TemplateResult {
    const uploads = this.#uploads;
    const kept = this.#kept;
    const words = this.fileWords;
    const isMany = this.most > 1;
    const label = isMany
      ? words.addProofs
      : uploads.length > 0
        ? words.replaceReceipt
        : words.addReceipt;
    return html`${
        uploads.length + kept.length > 0
          ? html`<ul>
              ${repeat(
                kept,
                ({ id }) => id,
                (file) => this.#keptTile(file),
              )}
              ${repeat(
                uploads,
                ({ id }) => id,
                (upload) => this.#tile(upload),
              )}
            </ul>`
          : nothing
      }
      <button type="button" class="button add" @click=${this.#choose}>
        ${isMany ? fileIcon('picture') : fileIcon('clip')}${label}
      </button>
      <input
        type="file"
        hidden
        aria-label=${label}
        ?multiple=${isMany}
        accept=${this.purpose === 'proof' ? 'image/*' : 'image/*,application/pdf'}
        @change=${this.#chosen}
      />
      ${this.problem ? html`<p class="problem small" role="alert">${this.problem}</p>` : nothing}`;
  }

  #keptTile(file: StoredFile): TemplateResult {
    const { id, name } = file;
    return html`<li class="done" title=${name}>
      <greenroom-picture inert .file=${file} .called=${name} .sizes=${'6rem'}></greenroom-picture>
      ${this.#remover(name, () => (this.keptIds = this.keptIds.filter((each) => each !== id)))}
    </li>`;
  }

  #remover(name: string, remove: () => void): TemplateResult {
    return html`<button
      type="button"
      class="round"
      aria-label=${this.fileWords.remove(name)}
      @click=${remove}
    >
      ${icon('close')}
    </button>`;
  }

  #tile({ id, name, mime, state, sentBytes, bytes, problem }: Upload): TemplateResult {
    const words = this.fileWords;
    const local = this.works?.localOf(id);
    const isPicture = mediaOf(mime) === 'image' && local;
    const why = words.problems[problem?.code ?? ''] ?? words.failed;
    return html`<li class=${state} title=${state === 'failed' ? `${name}: ${why}` : name}>
      ${
        isPicture
          ? html`<img alt=${name} src=${local.url} />`
          : html`<span class="type">${typeText(name, mime)}</span>`
      }
      ${
        state === 'done'
          ? nothing
          : html`<progress max=${bytes} .value=${sentBytes} aria-label=${name}></progress>`
      }
      ${
        state === 'failed'
          ? html`<button
              type="button"
              class="round again"
              aria-label=${words.retry(name)}
              @click=${() => this.works?.uploads.resume(id)}
            >
              ${icon('retry')}
            </button>`
          : nothing
      }
      ${this.#remover(name, () => this.#remove(id))}
    </li>`;
  }

  readonly #choose = (): void => this.renderRoot.querySelector<HTMLInputElement>('input')?.click();

  readonly #chosen = (event: Event): void => {
    const input = event.target as HTMLInputElement;
    const chosen = [...(input.files ?? [])];
    input.value = '';
    if (this.most === 1) for (const id of this.ids) this.#remove(id);
    const limits = { ...this.limits, attachments: this.most };
    const { taken, refused } = sortOut(chosen, this.ids.length + this.keptIds.length, limits);
    const words = this.fileWords;
    const texts = refused.map(({ name, why }) =>
      why === 'too_many'
        ? words.tooMany(this.most)
        : why === 'empty'
          ? words.isEmpty(name)
          : words.tooLarge(name, sizeText(this.limits?.file_bytes ?? 0, this.format.locale)),
    );
    this.problem = [...new Set(texts)].join(' ');
    for (const file of taken) this.#add(file, file.name, file.type);
  };

  #add(blob: Blob, name: string, mime: string): void {
    const upload = this.works?.addFor(this.threadId, blob, {
      name,
      mime: mime || 'application/octet-stream',
      purpose: this.purpose,
      ...(this.watermark ? { watermark: this.watermark } : {}),
    });
    if (upload) this.ids = [...this.ids, upload.id];
  }

  #remove(id: string): void {
    this.ids = this.ids.filter((each) => each !== id);
    void this.works?.uploads.cancel(id);
  }

  #makeAnew(): void {
    const before = this.#uploads.map(({ id, name, mime }) => ({
      id,
      name,
      mime,
      blob: this.works?.uploads.blobOf(id),
    }));
    for (const { id } of before) this.#remove(id);
    for (const { blob, name, mime } of before) if (blob) this.#add(blob, name, mime);
  }

  /** The ids of the files once all of them are there; null where something is wrong, which is then
   * shown. A field that may stay empty gives none. */
  async listed(): Promise<string | string[] | null> {
    const words = this.fileWords;
    const isEmpty = this.ids.length + this.keptIds.length === 0;
    this.problem = this.isRequired && isEmpty ? words.noProofs : '';
    if (this.problem) return this.#failed();
    while (this.#uploads.some(({ state }) => state !== 'done' && state !== 'failed')) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const uploads = this.#uploads;
    if (uploads.some(({ state }) => state === 'failed')) {
      this.problem = words.failed;
      return this.#failed();
    }
    const ids = [...this.keptIds, ...uploads.flatMap(({ file }) => file?.id ?? [])];
    return this.most > 1 ? ids : (ids[0] ?? '');
  }

  #failed(): null {
    this.focus();
    return null;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-file-field': GreenroomFileField;
  }
}
