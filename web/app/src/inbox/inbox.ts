/** All conversations of a person: folders, filters, search, and the list. */

import './connection.ts';
import './filters.ts';
import './folder_tabs.ts';
import './rows.ts';

import type { Folder, InboxEdit } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import { icon, type IconName } from '../look/icons.ts';
import type { MenuItem } from '../look/menu.ts';
import { tokens } from '../look/tokens.ts';
import type { Stop } from '../session/element.ts';
import { Pane } from '../session/pane.ts';
import type { Session } from '../session/session.ts';
import { rowActions } from './actions.ts';
import { countsOf } from './counts.ts';
import { chosenIn, type FilterName, type Filters, without } from './filters.ts';
import { FOLDERS, type Row, type View } from './folders.ts';
import type { GreenroomInboxRows } from './rows.ts';
import { InboxSource } from './source.ts';
import { bones, type Note, noteTemplate, stateTemplate } from './states.ts';
import { chips, frame, skeleton } from './styles.ts';

const SEARCH_AFTER_MS = 250;
const NOTE_FOR_MS = 6_000;

const SIGNS: Record<Folder, IconName> = {
  all: 'inbox',
  action: 'check',
  bookings: 'calendar',
  offers: 'document',
  requests: 'person',
  archived: 'archive',
  spam: 'bin',
};

/** Fires `greenroom-open` with the thread's id and `greenroom-folder` with a folder. */
@customElement('greenroom-inbox')
export class GreenroomInbox extends Pane {
  static override styles = [tokens, Pane.styles, chips, skeleton, frame];

  /** The thread that is open: its row is marked. */
  @property({ attribute: 'thread-id', reflect: true }) threadId: string | null = null;
  @property() folder: Folder = 'all';
  /** The id of a `<greenroom-thread>` of the same page, which then shows what is opened here. */
  @property({ attribute: 'for' }) htmlFor: string | null = null;
  @state() private filters: Filters = {};
  @state() private text = '';
  @state() private q = '';
  @state() private note: Note | null = null;
  @state() private rows: readonly Row[] = [];
  @query('input') private input!: HTMLInputElement;
  @query('greenroom-inbox-rows') private list!: GreenroomInboxRows | null;
  #source: InboxSource | null = null;
  #searchTimer: unknown = null;
  #noteTimer: unknown = null;
  #saidFor: View | null = null;

  protected override joined(session: Session): Stop[] {
    const source = new InboxSource(session, this.#view, () => this.#sourceChanged());
    this.#source = source;
    const { clock } = session;
    return [
      countsOf(session).onChange(() => this.requestUpdate()),
      source.start(),
      () => clock.clearTimeout(this.#searchTimer),
      () => clock.clearTimeout(this.#noteTimer),
      () => (this.#source = null),
    ];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.addEventListener('keydown', this.#key);
    this.addEventListener('greenroom-open', this.#opened);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.removeEventListener('keydown', this.#key);
    this.removeEventListener('greenroom-open', this.#opened);
  }

  /** The threads of the list, in its order, as far as they are loaded. */
  get threadIds(): readonly string[] {
    return this.rows.map(({ thread }) => thread.id);
  }

  /** Where the keyboard goes on: the row that is open, or the last one reached. */
  override focus(options?: FocusOptions): void {
    (this.list ?? this.input).focus(options);
  }

  focusSearch(): void {
    this.input.focus();
  }

  /** The list counts as a part of this: who waits for it can give it the focus. */
  protected override async getUpdateComplete(): Promise<boolean> {
    const isComplete = await super.getUpdateComplete();
    await this.list?.updateComplete;
    return isComplete;
  }

  get #view(): View {
    return { folder: this.#folder, ...this.filters, ...(this.q ? { q: this.q } : {}) };
  }

  /** The attribute is the page's: anything may stand there. */
  get #folder(): Folder {
    return FOLDERS.includes(this.folder) ? this.folder : 'all';
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    const source = this.#source;
    const isOther = source && JSON.stringify(source.list.view) !== JSON.stringify(this.#view);
    if (isOther) source.show(this.#view);
  }

  #sourceChanged(): void {
    this.rows = [...(this.#source?.list.rows ?? [])];
    this.#sayResult();
  }

  protected override render(): TemplateResult {
    const words = this.words.inbox;
    const counts = this.session ? countsOf(this.session).now : null;
    return html`<header part="header">
        <div class="top">
          <h2>${words.title}</h2>
          <slot name="connection"><greenroom-connection></greenroom-connection></slot>
          <span class="room"></span>
          <slot name="actions"></slot>
        </div>
        ${this.#find()} ${this.#chips()}
        <greenroom-folder-tabs
          exportparts="tab"
          .folder=${this.#folder}
          .counts=${counts}
          @folder-chosen=${this.#chooseFolder}
        ></greenroom-folder-tabs>
      </header>
      <div
        class="panel"
        role="tabpanel"
        aria-label=${words.folders[this.#folder]}
        aria-busy=${this.#source?.loading === 'first'}
      >
        ${this.#content()}
        ${this.note ? noteTemplate(this.note, this.words, () => this.#say(null)) : nothing}
      </div>`;
  }

  readonly #chooseFolder = ({ detail: folder }: CustomEvent<Folder>): void => {
    this.folder = folder;
    this.tell('greenroom-folder', { folder });
  };

  #find(): TemplateResult {
    const words = this.words.inbox;
    return html`<div class="find">
      <div class="search ${this.text ? 'filled' : ''}" role="search">
        ${icon('search')}
        <input
          class="field"
          type="search"
          part="search"
          aria-label=${words.search}
          placeholder=${words.search}
          maxlength="100"
          enterkeyhint="search"
          autocomplete="off"
          spellcheck="false"
          .value=${this.text}
          @input=${() => this.#type(this.input.value)}
          @keydown=${this.#searchKey}
        />
        ${
          this.text
            ? html`<button
                class="icon-button"
                aria-label=${words.clearSearch}
                title=${words.clearSearch}
                @click=${this.#clearSearch}
              >
                ${icon('close')}
              </button>`
            : nothing
        }
      </div>
      <greenroom-inbox-filters
        .filters=${this.filters}
        @filters-chosen=${(event: CustomEvent<Filters>) => (this.filters = event.detail)}
      ></greenroom-inbox-filters>
    </div>`;
  }

  #chips(): TemplateResult | typeof nothing {
    const words = this.words.inbox;
    const chosen = chosenIn(this.filters, words);
    if (chosen.length === 0) return nothing;
    const chip = ([name, label]: [FilterName, string]): TemplateResult =>
      html`<button
        class="chip"
        aria-label=${words.removeFilter(label)}
        @click=${() => this.#removeFilter(name)}
      >
        ${label}${icon('close')}
      </button>`;
    return html`<div class="chips">${chosen.map(chip)}</div>`;
  }

  #content(): TemplateResult {
    const source = this.#source;
    const words = this.words.inbox;
    if (!source) return stateTemplate('inbox', words.title, words.notConfigured);
    if (this.rows.length > 0) return this.#filled(source);
    if (source.problem) return this.#failed(source);
    if (!source.list.isLoaded) return bones(this.words.look.loading);
    return this.#empty();
  }

  #filled(source: InboxSource): TemplateResult {
    const isStale = source.problem !== null && !source.list.isLoaded;
    return html`${
        isStale
          ? html`<div class="line">
              <span>${this.words.inbox.stored}</span>${this.#retryButton(source)}
            </div>`
          : nothing
      }
      <greenroom-inbox-rows
        exportparts="row, list"
        .source=${source}
        .rows=${this.rows}
        .threadId=${this.threadId}
        .actions=${(row: Row) => this.#actionsFor(row)}
        >${this.#end(source)}</greenroom-inbox-rows
      >`;
  }

  #end(source: InboxSource): TemplateResult | typeof nothing {
    const { look, inbox } = this.words;
    const hasFailed = source.problem !== null && source.list.isLoaded;
    if (hasFailed) {
      return html`<div class="line">
        <span>${inbox.moreFailed}</span>${this.#retryButton(source)}
      </div>`;
    }
    return source.loading === 'next' ? html`<div class="line">${look.loading}</div>` : nothing;
  }

  #retryButton(source: InboxSource): TemplateResult {
    return html`<button class="button plain" @click=${() => source.retry()}>
      ${this.words.look.retry}
    </button>`;
  }

  #failed(source: InboxSource): TemplateResult {
    const text = this.session?.explain(source.problem) ?? '';
    const again = html`<button class="button" @click=${() => source.retry()}>
      ${icon('retry')}${this.words.look.retry}
    </button>`;
    return stateTemplate('warning', this.words.inbox.failed, text, again);
  }

  #empty(): TemplateResult {
    const words = this.words.inbox;
    const button = (label: string, run: () => void): TemplateResult =>
      html`<button class="button" @click=${run}>${label}</button>`;
    if (this.q) {
      const clear = button(words.clearSearch, this.#clearSearch);
      return stateTemplate('search', words.noResult, words.noResultText(this.q), clear);
    }
    if (Object.keys(this.filters).length > 0) {
      const clear = button(words.clearFilters, () => (this.filters = {}));
      return stateTemplate('filter', words.noMatch, words.noMatchText, clear);
    }
    const { title, text } = words.empty[this.#folder];
    return stateTemplate(SIGNS[this.#folder], title, text);
  }

  #actionsFor(row: Row): readonly MenuItem[] {
    return rowActions(row, this.nowMs, this.words.inbox, (label, edit) => {
      void this.#edit(row, label, edit);
    });
  }

  async #edit(row: Row, label: string, edit: InboxEdit): Promise<void> {
    const words = this.words.inbox;
    this.#say(null);
    try {
      const done = this.#source?.edit(row, edit);
      if (edit.archived !== undefined) {
        const undo = (): void => void this.#edit(row, words.undo, { archived: !edit.archived });
        const isUndone = label === words.undo;
        this.#say({
          text: edit.archived ? words.isArchived : words.isUnarchived,
          undo: isUndone ? null : undo,
        });
      }
      await done;
    } catch (error) {
      const why = this.session?.explain(error) ?? '';
      this.#say({ text: `${words.notDone(label)} ${why}`, undo: null });
    }
  }

  /** Seen for a while, and heard. Whoever has reached it with the keyboard keeps it. */
  #say(note: Note | null): void {
    const { session } = this;
    const hadFocus = this.#isNoteUsed('focus-within');
    session?.clock.clearTimeout(this.#noteTimer);
    this.note = note;
    if (note) {
      announce(note.text);
      this.#endNoteLater(note);
    } else if (hadFocus) {
      this.list?.focus();
    }
  }

  #endNoteLater(note: Note): void {
    this.#noteTimer = this.session?.clock.setTimeout(() => {
      if (this.#isNoteUsed('focus-within') || this.#isNoteUsed('hover')) this.#endNoteLater(note);
      else this.note = null;
    }, NOTE_FOR_MS);
  }

  #isNoteUsed(how: 'focus-within' | 'hover'): boolean {
    return Boolean(this.shadowRoot?.querySelector(`.note:${how}`));
  }

  #type(text: string): void {
    const { session } = this;
    this.text = text;
    session?.clock.clearTimeout(this.#searchTimer);
    this.#searchTimer = session?.clock.setTimeout(() => {
      this.q = this.text.trim();
    }, SEARCH_AFTER_MS);
  }

  readonly #clearSearch = (): void => {
    this.session?.clock.clearTimeout(this.#searchTimer);
    this.text = '';
    this.q = '';
    this.input.focus();
  };

  #removeFilter(name: FilterName): void {
    this.filters = without(this.filters, name);
    this.input.focus();
  }

  /** Once per search or filter: how much there is. */
  #sayResult(): void {
    const list = this.#source?.list;
    const isNarrow = this.q !== '' || Object.keys(this.filters).length > 0;
    if (!list?.isLoaded || !isNarrow || this.#saidFor === list.view) return;
    this.#saidFor = list.view;
    const { length } = list.rows;
    const words = this.words.inbox;
    announce(length === 0 ? words.noResult : words.shown(length, list.nextCursor === null));
  }

  readonly #searchKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && this.text) {
      event.preventDefault();
      event.stopPropagation();
      this.#clearSearch();
    } else if (event.key === 'ArrowDown' && this.list) {
      event.preventDefault();
      this.list.focus();
    }
  };

  readonly #key = (event: KeyboardEvent): void => {
    const isTyping = event.composedPath()[0] instanceof HTMLInputElement;
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.input.focus();
  };

  readonly #opened = (event: Event): void => {
    if (!this.htmlFor) return;
    const { threadId } = (event as CustomEvent<{ threadId: string }>).detail;
    const root = this.getRootNode() as Document | ShadowRoot;
    root.getElementById(this.htmlFor)?.setAttribute('thread-id', threadId);
    this.threadId = threadId;
  };
}
