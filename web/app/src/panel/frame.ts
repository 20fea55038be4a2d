/** `<greenroom-panel thread-id tab>`: what stands beside a conversation, tab by tab. */

import type { Card, FeedEvent, Leg } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import { tokens } from '../look/tokens.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { frameStyles } from './frame_styles.ts';
import { hasAll, Loads } from './loads.ts';
import { QuietReload } from './quiet_reload.ts';
import { saveFile } from './save_file.ts';
import { TAB_ICONS } from './tab_icons.ts';
import { countIn, isLater, readTab, tabAfterKey, type TabName, TABS } from './tabs.ts';
import type { View } from './view.ts';

const TICK_MS = 30_000;
const SKELETONS = [1, 2, 3];

@customElement('greenroom-panel')
export class GreenroomPanel extends GreenroomElement {
  static override styles = [tokens, GreenroomElement.styles, frameStyles];

  @property({ attribute: 'thread-id', reflect: true }) threadId: string | null = null;
  @property({ reflect: true }) tab: string | null = null;
  /** A panel that is not shown asks for nothing. */
  @property({ type: Boolean, reflect: true }) override hidden = false;
  @state() private copied: string | null = null;
  @state() private problem: string | null = null;
  @state() private hasParts = false;
  @state() private partsError: unknown = null;
  @query('[aria-selected="true"]') private selectedTab!: HTMLElement | null;
  @query('[role="tabpanel"]') private content!: HTMLElement | null;
  #loads: Loads | null = null;
  #reload: QuietReload | null = null;

  get #shown(): TabName {
    return readTab(this.tab) ?? 'actions';
  }

  /** Where the keyboard goes when the panel opens. */
  override focus(options?: FocusOptions): void {
    if (this.selectedTab) this.selectedTab.focus(options);
    else super.focus(options);
  }

  protected override joined(session: Session): Stop[] {
    const reload = new QuietReload(session.clock, () => void this.#load());
    this.#reload = reload;
    return [
      this.redrawEvery(TICK_MS),
      () => reload.stop(),
      () => (this.#loads = null),
      session.onReload(() => this.#load()),
      session.client.on('event', (event) => {
        if (event.thread_id === this.threadId && changesUs(event)) reload.ask();
      }),
    ];
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    if (!this.session || this.hidden) return;
    const isAnew = (['tab', 'hidden'] as const).some((name) => changed.has(name));
    if ((this.#loads?.threadId ?? null) !== this.threadId) this.#start(this.session);
    else if (isAnew && this.hasUpdated) void this.#load();
  }

  protected override updated(changed: PropertyValues<this>): void {
    const isOther = changed.has('threadId') || changed.has('tab');
    if (isOther && this.content) this.content.scrollTop = 0;
  }

  #start(session: Session): void {
    this.problem = null;
    this.#reload?.stop();
    this.#loads = this.threadId
      ? new Loads(session, this.threadId, () => this.requestUpdate())
      : null;
    void this.#load();
  }

  async #load(): Promise<void> {
    if (this.hidden) return;
    await Promise.all([this.#loads?.load(this.#shown), this.#loadParts()]);
  }

  /** What draws the tabs comes when a panel is shown: most pages with a list never need it. */
  async #loadParts(): Promise<void> {
    if (this.hasParts || !this.threadId) return;
    this.partsError = null;
    try {
      await import('./content.ts');
      this.hasParts = true;
    } catch (error) {
      this.partsError = error;
    }
  }

  protected override render(): TemplateResult {
    const words = this.words.panel;
    return html`<div class="frame" part="panel">
      <header>
        <h2>${words.title}</h2>
        <button
          class="icon-button"
          aria-label=${words.close}
          title=${words.close}
          @click=${this.#close}
        >
          ${icon('close')}
        </button>
      </header>
      ${this.threadId ? this.#thread() : html`<p class="none quiet">${words.noThread}</p>`}
    </div>`;
  }

  #thread(): TemplateResult {
    return html`<div
        class="tabs"
        role="tablist"
        aria-label=${this.words.panel.tabs}
        @keydown=${this.#key}
      >
        ${TABS.map((tab) => this.#tabButton(tab))}
      </div>
      <div
        class="scroll"
        id="content"
        role="tabpanel"
        aria-labelledby=${`tab-${this.#shown}`}
        tabindex="0"
      >
        ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
        ${this.#content()}
      </div>`;
  }

  #tabButton(tab: TabName): TemplateResult {
    const words = this.words.panel;
    const isShown = tab === this.#shown;
    const count = countIn(this.#loads?.now.panel ?? null, tab);
    return html`<button
      id=${`tab-${tab}`}
      class=${isLater(tab) ? 'later' : ''}
      role="tab"
      aria-selected=${isShown}
      aria-controls="content"
      tabindex=${isShown ? 0 : -1}
      @click=${() => this.#choose(tab)}
    >
      ${icon(TAB_ICONS[tab])}<span>${words.names[tab]}</span>
      ${
        count > 0
          ? html`<span class="count" aria-hidden="true">${this.format.number(count)}</span
              ><span class="visually-hidden">${words.waiting(count)}</span>`
          : nothing
      }
    </button>`;
  }

  #content(): TemplateResult {
    const loaded = this.#loads?.now;
    const tab = this.#shown;
    const error = this.partsError ?? (loaded && !hasAll(loaded, tab) ? loaded.error : null);
    if (error) return this.#failure(error);
    const isThere = loaded && this.hasParts && (isLater(tab) || hasAll(loaded, tab));
    if (!isThere) return this.#skeleton();
    return html`<greenroom-panel-content
      dir=${this.dir}
      .tab=${tab}
      .view=${this.#view()}
      .loaded=${loaded}
    ></greenroom-panel-content>`;
  }

  #skeleton(): TemplateResult {
    return html`<div class="skeletons" role="status" aria-label=${this.words.look.loading}>
      ${SKELETONS.map(() => html`<div class="skeleton"></div>`)}
    </div>`;
  }

  #failure(error: unknown): TemplateResult {
    const { look, panel } = this.words;
    return html`<div class="failure" role="alert">
      <h3>${panel.failed}</h3>
      <p>${this.session?.explain(error)}</p>
      <button class="button" @click=${() => void this.#load()}>${look.retry}</button>
    </div>`;
  }

  #view(): View {
    const { session } = this;
    return {
      words: this.words.panel,
      format: this.format,
      userId: session?.userId ?? '',
      nowMs: this.nowMs,
      thread: this.#loads?.now.thread ?? null,
      copied: this.copied,
      avatarOf: (person) => session?.avatarOf(person) ?? null,
      showCard: (cardId) => void this.#attempt(() => this.#showCard(cardId)),
      showMessage: (card) => this.#showMessage(card),
      saveCalendar: (leg) => void this.#attempt(() => this.#saveCalendar(leg)),
      copy: (text) => void this.#attempt(() => this.#copy(text)),
    };
  }

  /** Hides itself, unless the page has another idea. */
  readonly #close = (): void => {
    if (this.tell('greenroom-panel-close')) this.hidden = true;
  };

  readonly #key = (event: KeyboardEvent): void => {
    const next = tabAfterKey(this.#shown, event.key, getComputedStyle(this).direction === 'rtl');
    if (!next) return;
    event.preventDefault();
    this.#choose(next);
    void this.updateComplete.then(() => this.selectedTab?.focus());
  };

  #choose(tab: TabName): void {
    if (tab === this.#shown) return;
    this.problem = null;
    this.tab = tab;
    this.tell('greenroom-panel-tab', { threadId: this.threadId, tab });
  }

  /** A receipt knows its card, and the card knows its message. */
  async #showCard(cardId: string): Promise<void> {
    const answer = await this.session?.client.rest.card(cardId);
    if (answer) this.#showMessage(answer.card);
  }

  #showMessage({ message_id: messageId }: Card): void {
    if (messageId) this.tell('greenroom-show-message', { threadId: this.threadId, messageId });
  }

  async #saveCalendar(leg: Leg): Promise<void> {
    const text = await this.session?.client.rest.legCalendar(leg.id);
    if (text) saveFile(`${leg.title}.ics`, 'text/calendar', text);
  }

  async #copy(text: string): Promise<void> {
    await navigator.clipboard.writeText(text);
    this.copied = text;
    announce(this.words.panel.copied);
  }

  async #attempt(deed: () => Promise<void>): Promise<void> {
    this.problem = null;
    try {
      await deed();
    } catch (error) {
      this.problem = this.session?.explain(error) ?? null;
    }
  }
}

/** A new card comes as a message. */
function changesUs({ type, message }: FeedEvent): boolean {
  return type === 'card.changed' || type === 'thread.changed' || Boolean(message?.card);
}
