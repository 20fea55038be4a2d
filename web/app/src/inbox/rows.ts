/** The list itself: only the rows that can be seen are drawn, however many there are. */

import '../look/avatar.ts';
import '../look/menu.ts';

import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';

import type { GreenroomMenu, MenuItem } from '../look/menu.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { watch } from '../session/watching.ts';
import { onDraft } from '../session/drafts.ts';
import type { Row } from './folders.ts';
import { rowTemplate } from './row.ts';
import { rowStyles } from './row_styles.ts';
import type { InboxSource } from './source.ts';
import {
  isNearEnd,
  scrollToMeet,
  scrollToSee,
  shiftOf,
  type Sight,
  type Span,
  spanOf,
} from './window.ts';

const TICK_MS = 30_000;
/** A list that is still being scrolled is not watched yet. */
const WATCH_AFTER_MS = 400;

@customElement('greenroom-inbox-rows')
export class GreenroomInboxRows extends GreenroomElement {
  static override styles = [GreenroomElement.styles, rowStyles];

  @property({ attribute: false }) source: InboxSource | null = null;
  @property({ attribute: false }) threadId: string | null = null;
  /** Drawn when it is another. */
  @property({ attribute: false }) rows: readonly Row[] = [];
  /** What can be done with a row. */
  @property({ attribute: false }) actions: (row: Row) => readonly MenuItem[] = () => [];
  @state() private span: Span = { from: 0, to: 0 };
  @state() private cards: ReadonlyMap<string, string> = new Map();
  /** The row that Tab reaches; arrows move it. */
  @state() private activeId: string | null = null;
  @state() private menuRow: Row | null = null;
  @query('.scroll') private scroller!: HTMLElement;
  @query('.ruler') private ruler!: HTMLElement;
  @query('ul') private ul!: HTMLElement;
  @query('greenroom-menu') private menu!: GreenroomMenu;
  readonly #resized = new ResizeObserver(() => this.#measure());
  #sight: Sight = { scrollTop: 0, height: 0, rowHeight: 76 };
  readonly #tops = new WeakMap<HTMLElement, number>();
  #activeIndex = 0;
  #hadFocus: 'open' | 'more' | null = null;
  #seen: string[] = [];
  #watchTimer: unknown = null;
  #cardsFor: string | null = null;
  /** The thread that was opened, until its row was brought into sight. */
  #toMeet: string | null = null;

  protected override joined(session: Session): Stop[] {
    const { client } = session;
    const redraw = (id: string | null): void => {
      if (id === null || this.#drawn.includes(id)) this.requestUpdate();
    };
    return [
      this.redrawEvery(TICK_MS),
      client.on('presence', redraw),
      client.on('change', redraw),
      client.on('send', ({ threadId }) => redraw(threadId)),
      onDraft(redraw),
      session.onChange(() => (this.#cardsFor = null)),
      () => session.clock.clearTimeout(this.#watchTimer),
      () => watch(session, this, 'inbox', []),
    ];
  }

  /** For whoever shows the list: where the keyboard goes on. */
  override focus(options?: FocusOptions): void {
    this.#button('open')?.focus(options);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    this.#hadFocus = this.#focused();
    if (changed.has('threadId') && !this.#hadFocus) this.activeId = null;
    if (changed.has('threadId')) this.#toMeet = this.threadId;
    if (changed.has('rows') || changed.has('threadId')) this.#keepActive();
    this.span = spanOf(this.#sight, this.rows.length);
  }

  protected override render(): TemplateResult {
    const { session } = this;
    return html`<div class="ruler"></div>
      <div class="scroll" part="list" @scroll=${this.#scrolled}>
        <ul
          role="list"
          aria-label=${this.words.inbox.conversations}
          @keydown=${this.#key}
          @focusin=${this.#focusIn}
          @contextmenu=${this.#contextMenu}
        >
          ${
            session
              ? repeat(
                  this.#indexes(),
                  (index) => this.rows[index]?.thread.id,
                  (index) => this.#row(session, index),
                )
              : nothing
          }
        </ul>
        <slot></slot>
      </div>
      <greenroom-menu
        without-button
        .label=${this.words.inbox.actions}
        .items=${this.menuRow ? this.actions(this.menuRow) : []}
        @menu-closed=${() => (this.menuRow = null)}
      ></greenroom-menu>`;
  }

  /** Those in sight; and the one with the focus, which would be lost without its row. */
  #indexes(): number[] {
    const { from, to } = this.span;
    const indexes = Array.from({ length: to - from }, (_, index) => from + index);
    const isAway = this.#activeIndex < from || this.#activeIndex >= to;
    if (this.#hadFocus && isAway && this.#activeIndex < this.rows.length) {
      indexes.push(this.#activeIndex);
    }
    return indexes.sort((one, other) => one - other);
  }

  #row(session: Session, index: number): TemplateResult {
    const row = this.rows[index] as Row;
    const { id } = row.thread;
    return rowTemplate(row, session, {
      index,
      count: this.source?.list.nextCursor ? -1 : this.rows.length,
      isActive: index === this.#activeIndex,
      isCurrent: id === this.threadId,
      isMenuOpen: this.menuRow?.thread.id === id,
      nowMs: this.nowMs,
      cards: this.cards,
      open: () => this.#open(id),
      showMenu: (owner) => this.#showMenu(row, owner),
    });
  }

  protected override firstUpdated(): void {
    this.#resized.observe(this.scroller);
    this.#resized.observe(this.ruler);
  }

  protected override updated(changed: PropertyValues<this>): void {
    this.#place();
    if (changed.has('rows')) this.#stayInPlace();
    this.#meet();
    this.#seen = this.#idsIn(this.#inSight());
    if (this.source) this.source.rowsSeen = this.span.to;
    if (this.#hadFocus && !this.#focused()) this.#focusActive(this.#hadFocus);
    // What is drawn may be older than what has come in, and a page too many would be asked for.
    if (isNearEnd(this.span, this.source?.list.rows.length ?? 0)) this.source?.loadNext();
    this.#watchSoon();
    void this.#loadCards();
  }

  /** What stays where it is is not touched: a style that is set is computed anew. */
  #place(): void {
    const { rowHeight } = this.#sight;
    const height = `${this.rows.length * rowHeight}px`;
    if (this.ul.style.blockSize !== height) this.ul.style.blockSize = height;
    for (const item of this.ul.children as Iterable<HTMLElement>) {
      const top = Number(item.dataset['index']) * rowHeight;
      if (this.#tops.get(item) === top) continue;
      this.#tops.set(item, top);
      item.style.transform = `translateY(${top}px)`;
    }
  }

  /** The active row stays active wherever it moves; if it is gone, the one in its place is. */
  #keepActive(): void {
    const find = (id: string | null): number => (id ? (this.source?.list.indexOf(id) ?? -1) : -1);
    const known = find(this.activeId);
    if (known >= 0) this.#activeIndex = known;
    else if (this.activeId === null) this.#activeIndex = Math.max(0, find(this.threadId));
    this.#activeIndex = Math.max(0, Math.min(this.#activeIndex, this.rows.length - 1));
    if (this.activeId !== null) this.activeId = this.rows[this.#activeIndex]?.thread.id ?? null;
  }

  /** What is read does not jump when something new comes in above it. At the top, one sees it. */
  #stayInPlace(): void {
    const { scrollTop, rowHeight } = this.#sight;
    if (scrollTop < rowHeight / 2 || this.#seen.length === 0) return;
    const find = (id: string): number => this.source?.list.indexOf(id) ?? -1;
    const shift = shiftOf(this.#seen, Math.floor(scrollTop / rowHeight), find);
    if (shift !== 0) this.scroller.scrollTop = scrollTop + shift * rowHeight;
  }

  /** Whoever came by a link finds its row, once it is known where it stands: before the first page
   * the list has only what this device knows. Who has scrolled is left alone. */
  #meet(): void {
    const { source } = this;
    const isSettled = source !== null && (source.list.isLoaded || source.problem !== null);
    if (this.#toMeet === null || !isSettled || this.#sight.height === 0) return;
    const index = source.list.indexOf(this.#toMeet);
    if (index < 0) return;
    this.#toMeet = null;
    this.scroller.scrollTop = scrollToMeet(this.#sight, index);
  }

  #inSight(): Span {
    const { scrollTop, height, rowHeight } = this.#sight;
    const to = Math.ceil((scrollTop + height) / rowHeight);
    return { from: Math.floor(scrollTop / rowHeight), to: Math.min(to, this.rows.length) };
  }

  #idsIn({ from, to }: Span): string[] {
    return this.rows.slice(from, to).map(({ thread }) => thread.id);
  }

  get #drawn(): string[] {
    return this.#idsIn(this.span);
  }

  #measure(): void {
    const rowHeight = this.ruler.offsetHeight || this.#sight.rowHeight;
    this.#look(rowHeight);
    this.requestUpdate();
  }

  #look(rowHeight = this.#sight.rowHeight): void {
    const { scrollTop, clientHeight } = this.scroller;
    this.#sight = { scrollTop, height: clientHeight, rowHeight };
  }

  readonly #scrolled = (): void => {
    this.#toMeet = null;
    this.#look();
    const { from, to } = spanOf(this.#sight, this.rows.length);
    if (from !== this.span.from || to !== this.span.to) this.requestUpdate();
    else this.#seen = this.#idsIn(this.#inSight());
  };

  #watchSoon(): void {
    const { session } = this;
    if (!session) return;
    session.clock.clearTimeout(this.#watchTimer);
    this.#watchTimer = session.clock.setTimeout(() => {
      if (this.session === session) watch(session, this, 'inbox', this.#idsIn(this.#inSight()));
    }, WATCH_AFTER_MS);
  }

  /** The catalogue is large: it is asked for when a row has to name a card. */
  async #loadCards(): Promise<void> {
    const { session } = this;
    const { from, to } = this.span;
    const isNeeded = this.rows.slice(from, to).some(({ inbox }) => inbox.last_message?.card_type);
    if (!session || !isNeeded || this.#cardsFor === session.locale) return;
    this.#cardsFor = session.locale;
    try {
      const { items } = await session.catalogue();
      this.cards = new Map(items.map(({ type, title }) => [type, title]));
    } catch {
      // A row then says that a card was sent, without its name.
    }
  }

  #open(threadId: string): void {
    this.#activate(this.source?.list.indexOf(threadId) ?? 0);
    this.tell('greenroom-open', { threadId });
  }

  #activate(index: number): void {
    this.#activeIndex = Math.max(0, Math.min(index, this.rows.length - 1));
    this.activeId = this.rows[this.#activeIndex]?.thread.id ?? null;
  }

  #showMenu(row: Row, owner: HTMLElement, point: { x: number; y: number } | null = null): void {
    this.#activate(this.source?.list.indexOf(row.thread.id) ?? 0);
    this.menuRow = row;
    void this.updateComplete.then(() => this.menu.openBy(owner, point));
  }

  #button(name: 'open' | 'more'): HTMLElement | null {
    return this.ul.querySelector(`li[data-index='${this.#activeIndex}'] .${name}`);
  }

  #focused(): 'open' | 'more' | null {
    const focused = this.shadowRoot?.activeElement;
    if (!focused?.closest('ul')) return null;
    return focused.classList.contains('more') ? 'more' : 'open';
  }

  #focusActive(name: 'open' | 'more'): void {
    this.#button(name)?.focus({ preventScroll: true });
  }

  readonly #focusIn = (event: FocusEvent): void => {
    const item = (event.target as HTMLElement).closest('li');
    const index = Number(item?.dataset['index'] ?? this.#activeIndex);
    if (index !== this.#activeIndex || this.activeId === null) this.#activate(index);
  };

  readonly #key = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.#activeIndex;
    const page = Math.max(1, Math.floor(this.#sight.height / this.#sight.rowHeight) - 1);
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: this.rows.length - 1,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.#activate(next);
    this.scroller.scrollTop = scrollToSee(this.#sight, this.#activeIndex);
    this.#look();
    this.requestUpdate();
    void this.updateComplete.then(() => this.#focusActive('open'));
  };

  /** By the key of that name, or by the pointer's other button, or by a long press. */
  readonly #contextMenu = (event: PointerEvent): void => {
    const item = (event.target as HTMLElement).closest('li');
    const row = this.rows[Number(item?.dataset['index'])];
    const owner = item?.querySelector<HTMLElement>('.open');
    if (!row || !owner) return;
    event.preventDefault();
    const isByKey = event.button !== 2 && event.pointerType === '';
    const point = isByKey ? null : { x: event.clientX, y: event.clientY };
    // Letting go of the button outside of a menu closes it, so it opens after that.
    if (event.buttons === 0) this.#showMenu(row, owner, point);
    else {
      addEventListener('pointerup', () => setTimeout(() => this.#showMenu(row, owner, point)), {
        once: true,
      });
    }
  };
}
