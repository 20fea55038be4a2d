/** Files to deliver: they lie elsewhere, and are listed with their addresses and fingerprints. */

import type { Manifest, ManifestItem } from '@greenroom/sdk';
import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { live } from 'lit/directives/live.js';

import type { FormWords } from '../i18n/forms.ts';
import { icon } from '../look/icons.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { Attempt } from './attempt.ts';

/** Larger ones would have to fit into memory to be hashed here. */
const MOST_HASHED_BYTES = 1_000_000_000;

interface Row {
  name: string;
  url: string;
  bytes: string;
  sha256: string;
}

const EMPTY_ROW: Row = { name: '', url: '', bytes: '', sha256: '' };

@customElement('greenroom-manifest-field')
export class GreenroomManifestField extends GreenroomElement {
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
        gap: calc(var(--_space) * 3);
      }

      p {
        margin: 0;
      }

      .row {
        border: 1px solid var(--_line);
        border-radius: var(--_radius-small);
        display: grid;
        gap: calc(var(--_space) * 2);
        grid-template-columns: 1fr auto;
        margin: 0;
        min-inline-size: 0;
        padding: calc(var(--_space) * 3);
      }

      .row label {
        font-size: var(--_size-small);
        grid-column: 1 / -1;
      }

      .row label:first-of-type {
        grid-column: 1;
      }

      .buttons {
        display: flex;
        flex-wrap: wrap;
        gap: calc(var(--_space) * 2);
      }
    `,
  ];

  @property({ attribute: false }) formWords!: FormWords;
  @property({ attribute: false }) threadId = '';
  @property({ attribute: false }) path = '';
  @property({ attribute: false }) legId: string | null = null;
  @state() private rows: readonly Row[] = [];
  @state() private earlier: readonly Manifest[] = [];
  /** An earlier list that is delivered again. */
  @state() private again = '';
  @state() private isHashing = false;
  @state() private problem = '';
  readonly #attempt = new Attempt();

  protected override joined(session: Session): Stop[] {
    session.client.rest.manifests(this.threadId).then(
      (earlier) => (this.earlier = earlier),
      () => {},
    );
    return [];
  }

  protected override render(): TemplateResult {
    return html`${this.earlier.length > 0 ? this.#choice() : nothing}
    ${this.again ? nothing : this.#newList()}`;
  }

  #choice(): TemplateResult {
    const words = this.formWords;
    return html`<label
      >${words.earlierLists}<select
        class="field"
        @change=${(event: Event) => (this.again = (event.target as HTMLSelectElement).value)}
      >
        <option value="">${words.newList}</option>
        ${this.earlier.map(
          ({ id, items, created_at }) =>
            html`<option value=${id}>
              ${this.format.date(created_at)} · ${this.words.cards.filesCount(items.length)} ·
              ${items[0]?.name ?? ''}
            </option>`,
        )}
      </select></label
    >`;
  }

  #newList(): TemplateResult {
    const words = this.formWords;
    return html`<p class="quiet small">${words.filesHint}</p>
      ${this.rows.map((row, index) => this.#row(row, index))}
      <div class="buttons">
        <button type="button" class="button" ?disabled=${this.isHashing} @click=${this.#choose}>
          ${icon('files')}${this.isHashing ? words.hashing : words.chooseFiles}
        </button>
        <button
          type="button"
          class="button plain"
          @click=${() => (this.rows = [...this.rows, EMPTY_ROW])}
        >
          ${icon('plus')}${words.addFile}
        </button>
        <input
          type="file"
          multiple
          hidden
          aria-label=${words.chooseFiles}
          @change=${this.#chosen}
        />
      </div>
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}`;
  }

  #row(row: Row, index: number): TemplateResult {
    const words = this.formWords;
    const field = (name: keyof Row, text: string, type = 'text'): TemplateResult =>
      html`<label
        >${text}<input
          class="field"
          type=${type}
          autocomplete="off"
          .value=${live(row[name])}
          @input=${(event: Event) =>
            this.#change(index, { [name]: (event.target as HTMLInputElement).value })}
      /></label>`;
    return html`<fieldset class="row">
      <legend class="visually-hidden">${words.rowNumber(index + 1)}</legend>
      ${field('name', words.fileName)}
      <button
        type="button"
        class="icon-button"
        aria-label=${words.removeNumber(index + 1)}
        @click=${() => (this.rows = this.rows.filter((_, at) => at !== index))}
      >
        ${icon('bin')}
      </button>
      ${field('url', words.fileUrl, 'url')} ${field('bytes', words.fileBytes)}
      ${field('sha256', this.words.cards.fingerprint)}
    </fieldset>`;
  }

  #change(index: number, change: Partial<Row>): void {
    this.rows = this.rows.map((row, at) => (at === index ? { ...row, ...change } : row));
  }

  readonly #choose = (): void =>
    this.shadowRoot?.querySelector<HTMLInputElement>('[type=file]')?.click();

  readonly #chosen = async (event: Event): Promise<void> => {
    const input = event.target as HTMLInputElement;
    const files = [...(input.files ?? [])];
    input.value = '';
    this.isHashing = true;
    for (const file of files) {
      const row = {
        name: file.name,
        url: '',
        bytes: String(file.size),
        sha256: await hashOf(file),
      };
      this.rows = [...this.rows, row];
    }
    this.isHashing = false;
  };

  /** Lists the files, and gives the list's id; null where something is wrong, which is then shown. */
  async listed(): Promise<string | null> {
    const { session } = this;
    if (this.again) return this.again;
    const items = this.rows.map(itemOf);
    this.problem = this.#faultOf(items);
    if (this.problem || !session) return this.#focusFirst();
    const body = { items: items as ManifestItem[], ...(this.legId ? { leg_id: this.legId } : {}) };
    try {
      // The same files again are the same list, also when the card itself has to be tried again.
      const key = this.#attempt.keyFor(body);
      return (await session.client.rest.addManifest(this.threadId, body, key)).id;
    } catch (error) {
      this.problem = session.explain(error);
      return null;
    }
  }

  #faultOf(items: readonly (ManifestItem | null)[]): string {
    if (items.length === 0) return this.formWords.noFiles;
    return items.includes(null) ? this.formWords.filesWrong : '';
  }

  #focusFirst(): null {
    this.focus();
    return null;
  }
}

function itemOf({ name, url, bytes, sha256 }: Row): ManifestItem | null {
  const hash = sha256.trim().toLowerCase();
  const isRight =
    name.trim() && /^https:\/\/\S+$/.test(url.trim()) && /^\d{1,15}$/.test(bytes.trim());
  if (!isRight || !/^[0-9a-f]{64}$/.test(hash)) return null;
  return { name: name.trim(), url: url.trim(), bytes: Number(bytes), sha256: hash };
}

/** Empty where it cannot be worked out here: then it is typed in. */
async function hashOf(file: File): Promise<string> {
  if (!globalThis.crypto?.subtle || file.size > MOST_HASHED_BYTES) return '';
  const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-manifest-field': GreenroomManifestField;
  }
}
