/** `<greenroom-messages>`: conversations, one of them, and its project, in a box of any size. */

import type { Folder } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import type { GreenroomInbox } from '../inbox/inbox.ts';
import { emptyState, emptyStyles } from '../look/empty.ts';
import { focused } from '../look/focused.ts';
import { isOnTop } from '../look/popover.ts';
import { tokens } from '../look/tokens.ts';
import type { GreenroomPanel } from '../panel/panel.ts';
import { readTab, type TabName } from '../panel/tabs.ts';
import { Pane } from '../session/pane.ts';
import type { GreenroomThread } from '../thread/thread.ts';
import { styles } from './messages_styles.ts';
import { neighbour } from './neighbour.ts';
import { Room } from './room.ts';

interface Shown {
  readonly threadId: string | null;
  /** The panel's tab, or null while it is closed. */
  readonly panel: TabName | null;
  readonly folder: Folder;
}

/** What is to be shown now, and what that is to the page's own history. */
export interface Change extends Shown {
  readonly history: 'push' | 'replace' | 'back';
}

/** Fires `greenroom-change` before it shows something else; a page that prevents it sets the
 * properties itself. Fires `drawer` when `isDrawerOpen` has changed. */
@customElement('greenroom-messages')
export class GreenroomMessages extends Pane {
  static override styles = [tokens, Pane.styles, emptyStyles, styles];

  @property({ attribute: 'thread-id', reflect: true }) threadId: string | null = null;
  /** A tab of the panel, which is closed without one. */
  @property({ reflect: true }) panel: string | null = null;
  @property() folder: Folder = 'all';
  /** The page is about nothing else: then the panes are its landmarks. */
  @property({ attribute: false }) isPage = false;
  @state() private hasNothing = false;
  @query('greenroom-inbox') private inbox!: GreenroomInbox | null;
  @query('.thread') private threadPane!: HTMLElement | null;
  @query('greenroom-thread') private thread!: GreenroomThread | null;
  @query('greenroom-panel') private project!: GreenroomPanel | null;
  readonly #room = new Room(this);
  /** A phone that opens at a conversation does not draw the list before somebody wants it. */
  #hasList = false;
  /** What was shown when this was last drawn. */
  #before: Shown | null = null;
  #hadDrawer = false;
  /** What had the focus when the panel opened: it gets it back. */
  #opener: HTMLElement | null = null;

  /** Also for those who are not inside, such as the dialog that begins a conversation. */
  constructor() {
    super();
    this.addEventListener('greenroom-open', this.#opened as EventListener);
  }

  get isPhone(): boolean {
    return this.#room.isPhone;
  }

  /** The panel lies over the rest, which has to wait until it is closed. */
  get isDrawerOpen(): boolean {
    return this.#pane === 'panel' && !this.isPhone && !this.#room.isDesktop;
  }

  /** Where the keyboard goes on: the conversation, or the list where none is open. */
  override focus(): void {
    if (this.threadId) void this.focusThread();
    else void this.focusList();
  }

  async focusList(): Promise<void> {
    await this.updateComplete;
    await this.inbox?.updateComplete;
    this.inbox?.focus({ preventScroll: true });
  }

  /** With touch not to where one writes: the keyboard would come up and hide half of it. */
  async focusThread(): Promise<void> {
    await this.updateComplete;
    if (this.isPhone) return this.threadPane?.focus({ preventScroll: true });
    await this.thread?.updateComplete;
    await new Promise(requestAnimationFrame);
    this.thread?.focus({ preventScroll: true });
  }

  /** The open conversation, if there is one. */
  markRead(): boolean {
    this.thread?.markAllRead();
    return this.threadId !== null;
  }

  /** False where there is no list to search in. */
  focusSearch(): boolean {
    if (this.isPhone && this.#pane !== 'inbox') return false;
    this.inbox?.focusSearch();
    return true;
  }

  /** To the conversation before or after this one in the list. */
  async step(step: 1 | -1): Promise<void> {
    this.#hasList = true;
    this.requestUpdate();
    await this.updateComplete;
    const next = neighbour(this.inbox?.threadIds ?? [], this.threadId, step);
    if (next) this.#openThread(next);
  }

  /** Closes what was opened last; false where everything is in sight. */
  back(): boolean {
    if (this.#pane === 'panel') this.#closePanel();
    else if (this.#pane === 'thread' && this.isPhone) this.#closeThread();
    else return false;
    return true;
  }

  get #tab(): TabName | null {
    return this.threadId ? readTab(this.panel) : null;
  }

  get #pane(): 'inbox' | 'thread' | 'panel' {
    if (!this.threadId) return 'inbox';
    return this.#tab ? 'panel' : 'thread';
  }

  get #shown(): Shown {
    return { threadId: this.threadId, panel: this.#tab, folder: this.folder };
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    if (this.#tab && !this.#before?.panel) this.#opener = this.#before ? focused() : null;
    this.#hasList ||= !this.isPhone || this.#pane === 'inbox';
  }

  protected override render(): TemplateResult {
    if (!this.session || this.session.isSignedOut) return this.#signedOut();
    return html`<div
      class="panes at-${this.#pane}"
      @greenroom-close=${() => this.#closeThread()}
      @greenroom-folder=${this.#folderChosen}
      @greenroom-panel=${this.#panelAsked}
      @greenroom-panel-tab=${this.#tabChosen}
      @greenroom-panel-close=${this.#panelClosed}
      @greenroom-show-message=${this.#showMessage}
      @keydown=${this.#key}
    >
      ${this.#conversations()} ${this.#conversation()} ${this.#project()}
    </div>`;
  }

  #signedOut(): TemplateResult {
    const { look } = this.words;
    const again = html`<button class="button" @click=${() => void this.session?.askAgain()}>
      ${look.retry}
    </button>`;
    return html`<div class="signed-out">
      <slot name="heading"></slot>
      ${emptyState('person', look.signedOut, look.signedOutText, this.session ? again : nothing)}
    </div>`;
  }

  /** Alone on a phone it is what the page is about. */
  #conversations(): TemplateResult {
    const isMain = this.isPhone && this.#pane === 'inbox';
    const landmark = isMain ? 'main' : 'navigation';
    return html`<section
      class="inbox pane"
      role=${this.isPage ? landmark : 'region'}
      aria-label=${this.words.inbox.conversations}
      ?inert=${this.isDrawerOpen}
    >
      <slot name="heading"></slot>
      ${this.#hasList ? this.#list() : nothing}
    </section>`;
  }

  #list(): TemplateResult {
    return html`<greenroom-inbox
      exportparts="header, search, list, row, state, note, tab"
      .threadId=${this.threadId}
      .folder=${this.folder}
      @emptied=${() => (this.hasNothing = this.inbox?.hasNothing ?? false)}
    >
      <slot name="actions" slot="actions"></slot>
    </greenroom-inbox>`;
  }

  #conversation(): TemplateResult {
    return html`<div
      class="thread pane"
      role=${this.isPage ? 'main' : nothing}
      aria-label=${this.isPage ? this.words.thread.conversation : nothing}
      tabindex="-1"
      ?inert=${this.isDrawerOpen}
    >
      <greenroom-thread
        exportparts="state"
        .threadId=${this.threadId}
        .hasPanel=${this.#tab !== null}
        .hasNothing=${this.hasNothing}
        back=${this.isPhone ? 'always' : 'never'}
      >
        <slot name="empty" slot="empty"></slot>
      </greenroom-thread>
    </div>`;
  }

  #project(): TemplateResult | typeof nothing {
    if (!this.#tab) return nothing;
    const isOver = this.isDrawerOpen;
    const landmark = this.isPage ? 'complementary' : 'region';
    return html`${isOver ? html`<div class="scrim" @click=${() => this.#closePanel()}></div>` : nothing}
      <section
        class="panel pane"
        role=${isOver ? 'dialog' : landmark}
        aria-modal=${isOver ? 'true' : nothing}
        aria-label=${this.words.thread.project}
      >
        <greenroom-panel
          exportparts="panel"
          .threadId=${this.threadId}
          .tab=${this.#tab}
        ></greenroom-panel>
      </section>`;
  }

  protected override updated(): void {
    if (this.isDrawerOpen !== this.#hadDrawer) {
      this.#hadDrawer = this.isDrawerOpen;
      this.dispatchEvent(new Event('drawer'));
    }
    this.#moveFocus();
  }

  /** A pane that comes into view gets the focus: browsers give it to nobody by themselves. Who is
   * somewhere else in the page stays there. */
  #moveFocus(): void {
    const before = this.#before;
    const { threadId, panel } = (this.#before = this.#shown);
    if (!before || (focused() && !this.matches(':focus-within'))) return;
    if (threadId !== before.threadId) {
      if (threadId) void this.focusThread();
      else void this.focusList();
    } else if (panel && !before.panel) void this.#focusPanel();
    else if (!panel && before.panel) this.#leavePanel();
  }

  /** Whoever was at something else meanwhile stays there. */
  #leavePanel(): void {
    if (this.shadowRoot?.activeElement) return;
    if (this.#opener?.isConnected) this.#opener.focus();
    else void this.focusThread();
  }

  async #focusPanel(): Promise<void> {
    await this.project?.updateComplete;
    this.project?.focus();
  }

  #change(changes: Partial<Shown>, history: Change['history']): void {
    const next: Shown = { ...this.#shown, ...changes };
    if (this.tell('greenroom-change', { ...next, history } satisfies Change)) {
      Object.assign(this, next);
    }
  }

  #openThread(threadId: string): void {
    this.#change({ threadId, panel: this.#room.isDesktop ? this.#tab : null }, 'push');
  }

  #closeThread(): void {
    this.#change({ threadId: null, panel: null }, 'back');
  }

  #closePanel(): void {
    this.#change({ panel: null }, 'back');
  }

  readonly #opened = ({ detail }: CustomEvent<{ threadId: string }>): void => {
    if (detail.threadId !== this.threadId) this.#openThread(detail.threadId);
    else void this.focusThread();
  };

  readonly #folderChosen = ({ detail }: CustomEvent<{ folder: Folder }>): void => {
    this.#change({ folder: detail.folder }, 'replace');
  };

  /** Without a tab it is a switch. */
  readonly #panelAsked = ({ detail }: CustomEvent<{ tab?: string | null }>): void => {
    const wanted = readTab(detail.tab);
    if (!this.#tab) this.#change({ panel: wanted ?? 'actions' }, 'push');
    else if (wanted) this.#change({ panel: wanted }, 'replace');
    else this.#closePanel();
  };

  readonly #tabChosen = ({ detail }: CustomEvent<{ tab: string }>): void => {
    this.#change({ panel: readTab(detail.tab) }, 'replace');
  };

  readonly #panelClosed = (event: Event): void => {
    event.preventDefault();
    this.#closePanel();
  };

  /** Where the panel covers the conversation it makes way. */
  readonly #showMessage = ({ detail }: CustomEvent<{ messageId: string }>): void => {
    if (!this.#room.isDesktop) this.#closePanel();
    if (this.thread) this.thread.messageToShow = detail.messageId;
  };

  readonly #key = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
    if (!isOnTop(event) && this.back()) event.preventDefault();
  };
}
