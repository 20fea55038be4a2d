/** What a panel shows: its tabs, and the one that is open. Fetched when a panel is: see panel.ts. */

import type { Card, FeedEvent, Leg } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { isAboutBooking } from '../cards/booking_events.ts';
import { loadPanelWords, type PanelWords } from '../i18n/panel.ts';
import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import './content.ts';
import { frameStyles } from './frame_styles.ts';
import { hasAll, Loads } from './loads.ts';
import { QuietReload } from './quiet_reload.ts';
import { saveFile } from './save_file.ts';
import { TAB_ICONS } from './tab_icons.ts';
import { countIn, isLater, readTab, tabAfterKey, type TabName, TABS } from './tabs.ts';
import type { View } from './view.ts';

const TICK_MS = 30_000;
const SKELETONS = [1, 2, 3];

/** Fires `hide`, and `choose` with a tab. */
@customElement('greenroom-panel-frame')
export class GreenroomPanelFrame extends GreenroomElement {
  static override styles = [GreenroomElement.styles, frameStyles];

  @property({ attribute: false }) threadId: string | null = null;
  @property({ attribute: false }) tab: string | null = null;
  /** A panel that is not shown asks for nothing. */
  @property({ attribute: false }) isShown = true;
  /** Null until the language is there. */
  @state() private panelWords: PanelWords | null = null;
  @state() private copied: string | null = null;
  @state() private problem: string | null = null;
  @query('[aria-selected="true"]') private selectedTab!: HTMLElement | null;
  @query('[role="tabpanel"]') private content!: HTMLElement | null;
  #wordsLoaded: Promise<void> | null = null;
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

  /** It shows nothing before its words are there. */
  protected override async getUpdateComplete(): Promise<boolean> {
    await this.#wordsLoaded;
    return super.getUpdateComplete();
  }

  protected override joined(session: Session): Stop[] {
    const reload = new QuietReload(session.clock, () => void this.#load());
    this.#reload = reload;
    const loadWords = (): void => void (this.#wordsLoaded = this.#loadWords(session.locale));
    loadWords();
    return [
      this.redrawEvery(TICK_MS),
      session.onChange(loadWords),
      () => reload.stop(),
      () => (this.#loads = null),
      session.onReload(() => this.#load()),
      session.client.on('begun', () => void this.#load()),
      session.client.on('event', (event) => {
        if (event.thread_id === this.threadId && changesUs(event)) reload.ask();
      }),
    ];
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    if (!this.session || !this.isShown) return;
    const isAnew = (['tab', 'isShown'] as const).some((name) => changed.has(name));
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
    if (this.isShown) await this.#loads?.load(this.#shown);
  }

  async #loadWords(locale: string): Promise<void> {
    const words = await loadPanelWords(locale);
    if (locale === this.session?.locale) this.panelWords = words;
  }

  protected override render(): TemplateResult | typeof nothing {
    const words = this.panelWords;
    if (!words) return nothing;
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
      ${this.threadId ? this.#thread(words) : html`<p class="none quiet">${words.noThread}</p>`}
    </div>`;
  }

  #thread(words: PanelWords): TemplateResult {
    return html`<div class="tabs" role="tablist" aria-label=${words.tabs} @keydown=${this.#key}>
        ${TABS.map((tab) => this.#tabButton(words, tab))}
      </div>
      <div
        class="scroll"
        id="content"
        role="tabpanel"
        aria-labelledby=${`tab-${this.#shown}`}
        tabindex="0"
      >
        ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
        ${this.#content(words)}
      </div>`;
  }

  #tabButton(words: PanelWords, tab: TabName): TemplateResult {
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

  #content(words: PanelWords): TemplateResult {
    const loaded = this.#loads?.now;
    const tab = this.#shown;
    const isThere = loaded && (isLater(tab) || hasAll(loaded, tab));
    if (loaded?.error && !hasAll(loaded, tab)) return this.#failure(words, loaded.error);
    if (!isThere) return this.#skeleton();
    return html`<greenroom-panel-content
      dir=${this.dir}
      .tab=${tab}
      .threadId=${this.threadId ?? ''}
      .view=${this.#view(words)}
      .loaded=${loaded}
    ></greenroom-panel-content>`;
  }

  #skeleton(): TemplateResult {
    return html`<div class="skeletons" role="status" aria-label=${this.words.look.loading}>
      ${SKELETONS.map(() => html`<div class="skeleton"></div>`)}
    </div>`;
  }

  #failure(words: PanelWords, error: unknown): TemplateResult {
    return html`<div class="failure" role="alert">
      <h3>${words.failed}</h3>
      <p>${this.session?.explain(error)}</p>
      <button class="button" @click=${() => void this.#load()}>${this.words.look.retry}</button>
    </div>`;
  }

  #view(words: PanelWords): View {
    const { session } = this;
    return {
      words,
      format: this.format,
      userId: this.userId,
      nowMs: this.nowMs,
      thread: this.#loads?.now.thread ?? null,
      copied: this.copied,
      avatarOf: (person) => session?.avatarOf(person) ?? null,
      showCard: (cardId) => void this.#attempt(() => this.#showCard(cardId)),
      showMessage: (card) => this.#showMessage(card),
      saveCalendar: (leg) => void this.#attempt(() => this.#saveCalendar(leg)),
      copy: (text) => void this.#attempt(() => this.#copy(text, words)),
    };
  }

  /** Hides itself, unless the page has another idea. */
  readonly #close = (): void => {
    if (this.tell('greenroom-panel-close')) this.dispatchEvent(new Event('hide'));
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
    this.dispatchEvent(new CustomEvent('choose', { detail: tab }));
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

  async #copy(text: string, words: PanelWords): Promise<void> {
    await navigator.clipboard.writeText(text);
    this.copied = text;
    announce(words.copied);
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

/** What changes a booking changes tabs, and so does a file that comes, goes or becomes ready. */
function changesUs(event: FeedEvent): boolean {
  const { type, message, file } = event;
  const hasFiles = Boolean(message?.attachments.length) || file?.state === 'ready';
  return isAboutBooking(event) || hasFiles || type === 'message.deleted';
}
