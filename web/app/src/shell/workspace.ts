/** The three panes: conversations, one of them, and its project. On a phone one at a time. */

import type { User } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { englishShell, type ShellWords } from '../i18n/shell.ts';
import type { GreenroomInbox } from '../inbox/inbox.ts';
import { icon } from '../look/icons.ts';
import type { GreenroomPanel } from '../panel/panel.ts';
import { readTab } from '../panel/tabs.ts';
import { tokens } from '../look/tokens.ts';
import type { Stop } from '../session/element.ts';
import { Pane } from '../session/pane.ts';
import type { GreenroomThread } from '../thread/thread.ts';
import { focused } from './focused.ts';
import { followKeys } from './follow_keys.ts';
import './help.ts';
import { hasSingleKeys, keepSingleKeys, type Theme } from './kept.ts';
import type { Navigation } from './navigation.ts';
import './person_menu.ts';
import { INBOX, type Route } from './routes.ts';
import { Screen } from './screen.ts';
import { type Command, neighbour } from './shortcuts.ts';
import { styles } from './workspace_styles.ts';

type PaneName = 'inbox' | 'thread' | 'panel';

@customElement('greenroom-workspace')
export class GreenroomWorkspace extends Pane {
  static override styles = [tokens, Pane.styles, styles];

  @property({ attribute: false }) navigation!: Navigation;
  @property({ attribute: false }) route: Route = INBOX;
  @property({ attribute: false }) shellWords: ShellWords = englishShell;
  @property({ attribute: false }) person: User | null = null;
  @property({ attribute: false }) pageTheme: Theme = 'system';
  @property({ type: Boolean }) sample = false;
  @state() private isHelpOpen = false;
  @state() private singleKeys = hasSingleKeys();
  @query('greenroom-inbox') private inbox!: GreenroomInbox | null;
  @query('h1') private heading!: HTMLElement;
  @query('main') private main!: HTMLElement;
  @query('greenroom-thread') private thread!: GreenroomThread | null;
  @query('greenroom-panel') private panel!: GreenroomPanel | null;
  readonly #screen = new Screen(this);
  /** A phone that opens at a conversation does not draw the list before somebody wants it. */
  #hasList = false;
  #stopKeys: Stop | null = null;
  /** What had the focus when the panel opened: it gets it back. */
  #opener: HTMLElement | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#stopKeys = followKeys((command) => this.#run(command));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stopKeys?.();
  }

  /** Somebody has just signed in: the page is another one, and starts at its heading. */
  override focus(): void {
    const isList = !this.#screen.isPhone || this.#pane === 'inbox';
    void this.updateComplete.then(() => (isList ? this.heading : this.main).focus());
  }

  get #pane(): PaneName {
    if (!this.route.threadId) return 'inbox';
    return this.route.panel ? 'panel' : 'thread';
  }

  /** The panel lies over the rest, which has to wait until it is closed. */
  get #isDrawerOpen(): boolean {
    const { isPhone, isWide } = this.#screen;
    return this.#pane === 'panel' && !isPhone && !isWide;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    const before = changed.get('route') as Route | undefined;
    if (this.route.panel && !before?.panel) this.#opener = before ? focused() : null;
    this.#hasList ||= !this.#screen.isPhone || this.#pane === 'inbox';
  }

  protected override render(): TemplateResult {
    return html`${this.#skipLinks()}
      <div
        class="panes at-${this.#pane}"
        @greenroom-open=${this.#opened}
        @greenroom-close=${() => this.#closeThread()}
        @greenroom-folder=${this.#folder}
        @greenroom-panel=${this.#panelAsked}
        @greenroom-panel-tab=${this.#panelTab}
        @greenroom-panel-close=${this.#panelClosed}
        @greenroom-show-message=${this.#showMessage}
        @greenroom-help=${() => (this.isHelpOpen = true)}
      >
        ${this.#conversations()} ${this.#conversation()} ${this.#project()}
      </div>
      <greenroom-help
        ?open=${this.isHelpOpen}
        .shellWords=${this.shellWords}
        .singleKeys=${this.singleKeys}
        @close=${() => (this.isHelpOpen = false)}
        @single-keys=${this.#singleKeys}
      ></greenroom-help>`;
  }

  #skipLinks(): TemplateResult {
    const words = this.shellWords;
    const toThread = html`<button @click=${() => void this.#focusThread()}>
      ${words.skipToThread}
    </button>`;
    return html`<div class="skip" ?inert=${this.#isDrawerOpen}>
      ${this.route.threadId ? toThread : nothing}
      <button @click=${() => this.inbox?.focus()}>${words.skipToInbox}</button>
    </div>`;
  }

  /** Alone on a phone it is what the page is about. */
  #conversations(): TemplateResult {
    const words = this.shellWords;
    const isMain = this.#screen.isPhone && this.#pane === 'inbox';
    return html`<section
      class="inbox pane"
      role=${isMain ? 'main' : 'navigation'}
      aria-label=${words.conversations}
      ?inert=${this.#isDrawerOpen}
    >
      <h1 class="visually-hidden" tabindex="-1">${words.product}</h1>
      ${this.#hasList ? this.#list() : nothing}
    </section>`;
  }

  #list(): TemplateResult {
    const { threadId, folder } = this.route;
    return html`<greenroom-inbox .threadId=${threadId} .folder=${folder ?? 'all'}>
      <greenroom-person-menu
        slot="actions"
        .shellWords=${this.shellWords}
        .person=${this.person}
        .pageTheme=${this.pageTheme}
        .sample=${this.sample}
      ></greenroom-person-menu>
    </greenroom-inbox>`;
  }

  #conversation(): TemplateResult {
    const words = this.shellWords;
    const { threadId } = this.route;
    return html`<main
      class="thread pane"
      aria-label=${words.conversation}
      tabindex="-1"
      ?inert=${this.#isDrawerOpen}
    >
      ${
        threadId
          ? html`<greenroom-thread
              .threadId=${threadId}
              .hasPanel=${this.route.panel !== null}
              back=${this.#screen.isPhone ? 'always' : 'never'}
            ></greenroom-thread>`
          : html`<div class="nothing">
              <span class="emblem">${icon('inbox')}</span>
              <h2>${words.chooseThread}</h2>
              <p>${words.chooseThreadHint}</p>
              <button class="button plain" @click=${() => (this.isHelpOpen = true)}>
                ${words.shortcuts}
              </button>
            </div>`
      }
    </main>`;
  }

  #project(): TemplateResult | typeof nothing {
    const { threadId, panel } = this.route;
    if (!threadId || !panel) return nothing;
    const isOver = this.#isDrawerOpen;
    return html`${isOver ? html`<div class="scrim" @click=${() => this.#closePanel()}></div>` : nothing}
      <section
        class="panel pane"
        role=${isOver ? 'dialog' : 'complementary'}
        aria-modal=${isOver ? 'true' : nothing}
        aria-label=${this.shellWords.project}
      >
        <greenroom-panel .threadId=${threadId} .tab=${panel}></greenroom-panel>
      </section>`;
  }

  /** A pane that comes into view gets the focus: browsers give it to nobody by themselves. */
  protected override updated(changed: PropertyValues<this>): void {
    const before = changed.get('route') as Route | undefined;
    if (!before || !this.hasUpdated) return;
    const { threadId, panel } = this.route;
    if (threadId !== before.threadId) {
      if (threadId) void this.#focusThread();
      else void this.#focusList();
    } else if (panel && !before.panel) this.#focusPanel();
    else if (!panel && before.panel) this.#leavePanel();
  }

  /** Whoever was somewhere else meanwhile stays there. */
  #leavePanel(): void {
    if (this.shadowRoot?.activeElement) return;
    if (this.#opener?.isConnected) this.#opener.focus();
    else void this.#focusThread();
  }

  /** With touch not to where one writes: the keyboard would come up and hide half of it. */
  async #focusThread(): Promise<void> {
    if (this.#screen.isPhone) return this.main.focus({ preventScroll: true });
    await this.thread?.updateComplete;
    await new Promise(requestAnimationFrame);
    this.thread?.focus({ preventScroll: true });
  }

  async #focusList(): Promise<void> {
    await this.inbox?.updateComplete;
    this.inbox?.focus({ preventScroll: true });
  }

  #focusPanel(): void {
    void this.panel?.updateComplete.then(() => this.panel?.focus());
  }

  #openThread(threadId: string): void {
    const panel = this.#screen.isWide ? this.route.panel : null;
    this.navigation.go({ page: 'thread', threadId, panel });
  }

  #closeThread(): void {
    this.navigation.backTo({ page: 'inbox', threadId: null, panel: null });
  }

  #closePanel(): void {
    this.navigation.backTo({ panel: null });
  }

  #run(command: Command): boolean {
    if (this.#isDrawerOpen && command !== 'back' && command !== 'help') return false;
    switch (command) {
      case 'help':
        this.isHelpOpen = true;
        return true;
      case 'search':
        return this.#search();
      case 'previous':
        void this.#step(-1);
        return true;
      case 'next':
        void this.#step(1);
        return true;
      case 'back':
        return this.#back();
    }
  }

  #search(): boolean {
    if (this.#screen.isPhone && this.#pane !== 'inbox') return false;
    this.inbox?.focusSearch();
    return true;
  }

  async #step(step: 1 | -1): Promise<void> {
    this.#hasList = true;
    this.requestUpdate();
    await this.updateComplete;
    const next = neighbour(this.inbox?.threadIds ?? [], this.route.threadId, step);
    if (next) this.#openThread(next);
  }

  #back(): boolean {
    if (this.#pane === 'panel') this.#closePanel();
    else if (this.#pane === 'thread' && this.#screen.isPhone) this.#closeThread();
    else return false;
    return true;
  }

  readonly #opened = ({ detail }: CustomEvent<{ threadId: string }>): void => {
    if (detail.threadId !== this.route.threadId) this.#openThread(detail.threadId);
    else void this.#focusThread();
  };

  readonly #folder = ({ detail }: CustomEvent<{ folder: string }>): void => {
    this.navigation.replace({ folder: detail.folder === 'all' ? null : detail.folder });
  };

  /** Without a tab it is a switch. */
  readonly #panelAsked = ({ detail }: CustomEvent<{ tab?: string | null }>): void => {
    const wanted = readTab(detail.tab);
    if (!this.route.panel) this.navigation.go({ panel: wanted ?? 'actions' });
    else if (wanted) this.navigation.replace({ panel: wanted });
    else this.#closePanel();
  };

  readonly #panelTab = ({ detail }: CustomEvent<{ tab: string }>): void => {
    this.navigation.replace({ panel: readTab(detail.tab) });
  };

  readonly #panelClosed = (event: Event): void => {
    event.preventDefault();
    this.#closePanel();
  };

  /** Where the panel covers the conversation it makes way. */
  readonly #showMessage = ({ detail }: CustomEvent<{ messageId: string }>): void => {
    if (!this.#screen.isWide) this.#closePanel();
    if (this.thread) this.thread.messageToShow = detail.messageId;
  };

  readonly #singleKeys = ({ detail }: CustomEvent<{ isOn: boolean }>): void => {
    this.singleKeys = detail.isOn;
    keepSingleKeys(detail.isOn);
  };
}
