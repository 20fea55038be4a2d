/** A form made from a JSON Schema: for a new card, or for an action that takes something. */

import { css, html, type LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import '../look/dialog.ts';
import { GreenroomElement } from '../session/element.ts';
import type { CancelQuote } from './cancelling.ts';
import { type FormHost, idOf } from './field_parts.ts';
import { drawObject } from './fields.ts';
import { drawQuote } from './quote.ts';
import '../files/file_field.ts';
import '../files/picture_notes.ts';
import { nameOf, personIn } from '../session/people.ts';
import './manifest_field.ts';
import { type FormContext, lacksDocument, type Schema } from './schema.ts';
import { chip } from './style.ts';
import {
  beginning,
  type FieldFault,
  newRow,
  type Raw,
  rawAt,
  type RawObject,
  rawOf,
  read,
  withRaw,
} from './values.ts';
import { currentPosition } from './geolocation.ts';

export { answerOf, formContext } from './form_context.ts';

/** A field whose value is known only when its files are listed or uploaded. */
interface ListedField extends HTMLElement {
  readonly path: string;
  listed(): Promise<string | string[] | null>;
}

/** Fires `filled` with `detail.value` when all is well, and `left` when somebody goes back. */
@customElement('greenroom-card-form')
export class GreenroomCardForm extends GreenroomElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    chip,
    css`
      form {
        container-type: inline-size;
        display: flex;
        flex-direction: column;
        gap: calc(var(--_space) * 4);
      }

      fieldset {
        border: 0;
        margin: 0;
        min-inline-size: 0;
        padding: 0;
      }

      p {
        margin: 0;
      }

      label,
      legend {
        display: block;
        font-weight: 500;
        margin-block-end: var(--_space);
        padding: 0;
      }

      .group > legend {
        color: var(--_text-quiet);
        font-size: var(--_size-small);
        margin-block-end: calc(var(--_space) * 2);
      }

      .group > .button.plain {
        margin-inline-start: calc(var(--_space) * -3);
      }

      .item > p,
      .pair + p {
        margin-block-start: var(--_space);
      }

      .fault {
        color: var(--_danger);
      }

      textarea.field {
        display: block;
        resize: vertical;
      }

      .pair {
        display: grid;
        gap: calc(var(--_space) * 2);
        grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
      }

      .tick {
        align-items: center;
        display: flex;
        font-weight: 400;
        gap: calc(var(--_space) * 2.5);
        margin: 0;
        min-block-size: 2.25rem;
      }

      .tick input {
        accent-color: var(--_accent);
        block-size: 1.15rem;
        flex: none;
        inline-size: 1.15rem;
        margin: 0;
        scroll-margin-block-start: 4rem;
      }

      .row {
        border-block-end: 1px solid var(--_line);
        margin-block-end: calc(var(--_space) * 3);
        padding-block-end: calc(var(--_space) * 3);
        position: relative;
      }

      .row > .icon-button {
        inset-block-start: calc(var(--_space) * -1.5);
        inset-inline-end: 0;
        position: absolute;
      }

      .cells {
        display: grid;
        gap: calc(var(--_space) * 3);
        grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr));
      }

      .cells > :not(.integer, .money, .minutes, .number, .code) {
        grid-column: 1 / -1;
      }

      .total {
        display: flex;
        font-weight: 650;
        justify-content: space-between;
        margin-block-start: calc(var(--_space) * 2);
      }

      .box {
        background: var(--_surface-sunken);
        border-radius: var(--_radius-small);
        padding: calc(var(--_space) * 2.5) calc(var(--_space) * 3);
      }

      .hash {
        font-family: ui-monospace, SFMono-Regular, Menlo, monospace;
        font-size: var(--_size-tiny);
        overflow-wrap: anywhere;
      }

      .locate {
        align-self: start;
      }

      .end {
        display: flex;
        flex-wrap: wrap;
        gap: calc(var(--_space) * 2);
        justify-content: end;
      }

      .end .button {
        flex: 0 1 auto;
      }

      @container (max-width: 22rem) {
        .end .button {
          flex: 1 1 auto;
        }
      }

      @media (pointer: coarse) {
        .tick {
          min-block-size: 2.75rem;
        }
      }
    `,
  ];

  @property({ attribute: false }) schema: Schema = {};
  @property({ attribute: false }) context!: FormContext;
  /** What an answer begins with; a new card begins with what is likely. */
  @property({ attribute: false }) value: Record<string, unknown> | null = null;
  @property({ attribute: false }) threadId = '';
  @property({ attribute: false }) submitLabel = '';
  @property({ attribute: false }) isDanger = false;
  @property({ attribute: false }) isBusy = false;
  @property({ attribute: false }) isOver = false;
  /** What the server said of the last try. */
  @property({ attribute: false }) problem = '';
  @state() private raw: RawObject = {};
  @state() private faults: readonly FieldFault[] = [];
  @state() private isLocating = false;
  @state() private placeProblem = '';
  @state() private isListing = false;

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    if (!changed.has('schema')) return;
    const { schema, context, value } = this;
    this.raw = beginning(schema, context);
    if (value) this.raw = { ...this.raw, ...given(rawOf(schema, value, context), value) };
    this.faults = [];
  }

  protected override firstUpdated(): void {
    void this.#focusFirst();
  }

  /** The dialog around has to be open before something in it can take the focus. */
  async #focusFirst(): Promise<void> {
    await this.closest<LitElement>('greenroom-dialog')?.updateComplete;
    await this.#focus('input, select, textarea');
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has('problem') && this.problem) {
      this.shadowRoot?.querySelector('.problem')?.scrollIntoView({ block: 'nearest' });
    }
  }

  protected override render(): TemplateResult {
    const words = this.words.cards;
    const isBusy = this.isBusy || this.isListing;
    const quote = this.#quote();
    return html`<form novalidate aria-busy=${isBusy} @submit=${this.#submit}>
      ${drawObject(this.#host(), this.schema, this.raw)}
      ${quote ? drawQuote(words, this.format, quote) : nothing}
      ${this.placeProblem ? html`<p class="problem" role="alert">${this.placeProblem}</p>` : nothing}
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
      <div class="end">
        <button type="button" class="button" @click=${() => this.dispatchEvent(new Event('left'))}>
          ${this.context.words.notNow}
        </button>
        <button
          class="button ${this.isDanger ? 'danger' : 'primary'}"
          aria-describedby=${quote ? 'quote' : nothing}
          ?disabled=${isBusy || this.isOver || lacksDocument(this.schema, this.context)}
        >
          ${isBusy ? html`<span class="spinner"></span>` : nothing}${isBusy ? words.busy : this.submitLabel}
        </button>
      </div>
    </form>`;
  }

  #host(): FormHost {
    const { words, format, context, faults, threadId, isLocating } = this;
    return {
      words: { ...words.cards, ...context.words },
      context: { ...context, zone: this.#zone() },
      format,
      faults,
      threadId,
      isLocating,
      watermark: this.raw['watermark'] === true || context.isMarked ? this.#ownName() : '',
      set: (path, value) => this.#set(path, value),
      addRow: (path, schema) => this.#addRow(path, schema),
      removeRow: (path, index) => this.#removeRow(path, index),
      locate: (path) => void this.#locate(path),
    };
  }

  /** Across the previews stands whose they are. */
  #ownName(): string {
    const thread = this.session?.client.state.threads.get(this.threadId)?.thread ?? null;
    const person = personIn(thread, this.userId);
    return `© ${person ? nameOf(person) : this.userId}`;
  }

  /** Of the leg that is chosen, where the card would end it. */
  #quote(): CancelQuote | undefined {
    const { quotes, legId } = this.context;
    const { leg_id: chosen } = this.raw;
    return quotes[typeof chosen === 'string' && chosen ? chosen : (legId ?? '')];
  }

  /** The zone that is chosen in the form, if it asks for one. */
  #zone(): string {
    const { timezone } = this.raw;
    return typeof timezone === 'string' && timezone ? timezone : this.context.zone;
  }

  #set(path: string, value: Raw): void {
    this.raw = withRaw(this.raw, path.split('.'), value) as RawObject;
    this.faults = this.faults.filter(
      (each) => each.path !== path && !path.startsWith(`${each.path}.`),
    );
    if (path.endsWith('start.date')) this.#follow(path, value);
  }

  /** What begins on a day mostly ends on it. */
  #follow(path: string, day: Raw): void {
    const end = path.replace(/start\.date$/, 'end.date').split('.');
    if (rawAt(this.raw, end) === '') this.raw = withRaw(this.raw, end, day) as RawObject;
  }

  #rows(path: string): Raw[] {
    return (rawAt(this.raw, path.split('.')) || []) as Raw[];
  }

  #addRow(path: string, schema: Schema): void {
    const rows = this.#rows(path);
    this.raw = withRaw(this.raw, path.split('.'), [
      ...rows,
      newRow(schema, this.context),
    ]) as RawObject;
    void this.#focus(`#${idOf(path)}-${rows.length}-row .field, #${idOf(path)}-${rows.length}`);
  }

  #removeRow(path: string, index: number): void {
    const rows = this.#rows(path).filter((_, at) => at !== index);
    this.raw = withRaw(this.raw, path.split('.'), rows) as RawObject;
    this.faults = [];
    void this.#focus(`#${idOf(path)}-add`);
  }

  async #focus(selector: string): Promise<void> {
    await this.updateComplete;
    this.shadowRoot?.querySelector<HTMLElement>(selector)?.focus();
  }

  async #locate(path: string): Promise<void> {
    this.isLocating = true;
    this.placeProblem = '';
    try {
      const { lat, lon } = await currentPosition();
      this.#set(`${path}lat`, lat.toFixed(5));
      this.#set(`${path}lon`, lon.toFixed(5));
    } catch {
      this.placeProblem = this.context.words.noPosition;
    } finally {
      this.isLocating = false;
    }
  }

  readonly #submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (this.isBusy || this.isListing || this.isOver) return;
    const fields = 'greenroom-manifest-field, greenroom-file-field';
    const lists = [...(this.shadowRoot?.querySelectorAll<ListedField>(fields) ?? [])];
    if (!this.#isRight(lists.map(({ path }) => path))) return;
    if (!(await this.#listFiles(lists))) return;
    const { value } = read(this.schema, this.raw, this.context);
    this.dispatchEvent(new CustomEvent('filled', { detail: { value } }));
  };

  /** Files are listed last, when everything else is right: their ids are not known before. */
  #isRight(listed: readonly string[]): boolean {
    const { faults } = read(this.schema, this.raw, this.context);
    const isLater = (fault: string): boolean => fault === 'required' || fault === 'tooFew';
    this.faults = faults.filter(({ path, fault }) => !isLater(fault) || !listed.includes(path));
    const [first] = this.faults;
    if (first) void this.#focusOn(first.path);
    return !first;
  }

  async #focusOn(path: string): Promise<void> {
    const id = idOf(path);
    await this.#focus(`#${id}, #${id}-add`);
  }

  async #listFiles(lists: readonly ListedField[]): Promise<boolean> {
    this.isListing = true;
    try {
      for (const list of lists) {
        const id = await list.listed();
        if (id === null) return false;
        this.#set(list.path, id);
      }
      return true;
    } finally {
      this.isListing = false;
    }
  }
}

/** Only what the value has: the rest keeps its beginning. */
function given(raw: RawObject, value: Record<string, unknown>): RawObject {
  return Object.fromEntries(Object.entries(raw).filter(([name]) => name in value));
}
