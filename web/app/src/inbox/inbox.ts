/** All conversations of a person: folders, filters, search, and the list. */

import './connection.ts';
import './filters.ts';
import './folder_tabs.ts';
import './rows.ts';

import { type Folder, type InboxEdit, Problem } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import { emptyState, emptyStyles } from '../look/empty.ts';
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
import { type Note, Notes } from './notes.ts';
import { bones, noteTemplate } from './states.ts';
import { chips, frame, skeleton } from './styles.ts';

const SEARCH_AFTER_MS = 250;

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
  static override styles = [tokens, Pane.styles, emptyStyles, chips, skeleton, frame];

  /** The thread that is open: its row is marked. */
  @property({ attribute: 'thread-id', reflect: true }) threadId: string | null = null;
  @property() folder: Folder = 'all';
  /** The id of a `<greenroom-thread>` of the same page, which then shows what is opened here. */
  @property({ attribute: 'for' }) htmlFor: string | null = null;
  @state() private filters: Filters = {};
  @state() private text = '';
  @state() private q = '';
  @state() private rows: readonly Row[] = [];
  @query('input') private input!: HTMLInputElement;
  @query('greenroom-inbox-rows') private list!: GreenroomInboxRows | null;
  #source: InboxSource | null = null;
  #searchTimer: unknown = null;
  #notes: Notes | null = null;
  #saidFor: View | null = null;
  #hasNothing = false;

  /** There is no conversation at all. Fires `emptied` when that changes. */
  get hasNothing(): boolean {
    return this.#hasNothing;
  }

  protected override joined(session: Session): Stop[] {
    const source = new InboxSource(session, this.#view, () => this.#sourceChanged());
    this.#source = source;
    const { clock } = session;
    const notes = new Notes(clock, {
      changed: () => this.requestUpdate(),
      isUsed: () => this.#isNoteUsed('focus-within') || this.#isNoteUsed('hover'),
    });
    this.#notes = notes;
    return [
      countsOf(session).onChange(() => this.requestUpdate()),
      source.start(),
      () => clock.clearTimeout(this.#searchTimer),
      session.client.on('event', (event) => this.#keepFocus(() => notes.heard(event))),
      () => notes.say(null),
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
    this.#lookForNothing();
    this.#sayResult();
  }

  /** Other folders and searches tell nothing about it, unless they find something. */
  #lookForNothing(): void {
    const list = this.#source?.list;
    const isAll = list && Object.keys(list.view).length === 1 && list.view.folder === 'all';
    const has = this.rows.length === 0 && (isAll ? list.isLoaded : this.#hasNothing);
    if (has === this.#hasNothing) return;
    this.#hasNothing = has;
    this.dispatchEvent(new Event('emptied'));
  }

  protected override render(): TemplateResult {
    const words = this.words.inbox;
    const counts = this.session ? countsOf(this.session).now : null;
    const note = this.#notes?.now;
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
        ${this.#content()} ${note ? noteTemplate(note, this.words, () => this.#say(null)) : nothing}
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
    const { look } = this.words;
    if (!source) return emptyState('person', look.signedOut, look.signedOutText);
    if (this.rows.length > 0) return this.#filled(source);
    if (source.problem) return this.#failed(source);
    if (!source.list.isLoaded) return bones(look.loading);
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
    const { look, inbox } = this.words;
    const again = html`<button class="button" @click=${() => source.retry()}>
      ${icon('retry')}${look.retry}
    </button>`;
    if (Problem.of(source.problem).status === 401) {
      return emptyState('person', look.signedOut, look.signedOutText, again);
    }
    return emptyState('warning', inbox.failed, this.session?.explain(source.problem) ?? '', again);
  }

  #empty(): TemplateResult {
    const words = this.words.inbox;
    const button = (label: string, run: () => void): TemplateResult =>
      html`<button class="button" @click=${run}>${label}</button>`;
    if (this.q) {
      const clear = button(words.clearSearch, this.#clearSearch);
      return emptyState('search', words.noResult, words.noResultText(this.q), clear);
    }
    if (Object.keys(this.filters).length > 0) {
      const clear = button(words.clearFilters, () => (this.filters = {}));
      return emptyState('filter', words.noMatch, words.noMatchText, clear);
    }
    const { title, text } = words.empty[this.#folder];
    return emptyState(SIGNS[this.#folder], title, text);
  }

  #actionsFor(row: Row): readonly MenuItem[] {
    return rowActions(row, this.nowMs, this.words.inbox, {
      edit: (label, edit) => void this.#edit(row, label, edit),
      markRead: (label) => void this.#attempt(label, this.#source?.markRead(row)),
    });
  }

  async #edit(row: Row, label: string, edit: InboxEdit): Promise<void> {
    const words = this.words.inbox;
    this.#say(null);
    const done = this.#source?.edit(row, edit);
    if (edit.archived !== undefined) {
      const undo = (): void => void this.#edit(row, words.undo, { archived: !edit.archived });
      const text = edit.archived ? words.isArchived : words.isUnarchived;
      const placement = edit.archived ? 'archived' : 'inbox';
      const about = { threadId: row.thread.id, placement } as const;
      this.#say({ text, undo: label === words.undo ? null : undo, about }, done);
    }
    await this.#attempt(label, done);
  }

  async #attempt(label: string, done: Promise<void> | undefined): Promise<void> {
    try {
      await done;
    } catch (error) {
      const why = this.session?.explain(error) ?? '';
      const text = `${this.words.inbox.notDone(label)} ${why}`;
      this.#say({ text, undo: null, about: null });
    }
  }

  /** Seen for a while, and heard. */
  #say(note: Note | null, done?: Promise<unknown>): void {
    this.#keepFocus(() => this.#notes?.say(note, done));
    if (note) announce(note.text);
  }

  /** A note that goes gives the focus back to the list. */
  #keepFocus(run: () => void): void {
    const hadFocus = this.#isNoteUsed('focus-within');
    run();
    if (hadFocus && !this.#notes?.now) this.list?.focus();
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
