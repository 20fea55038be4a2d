/** `<greenroom-thread>`: one conversation, from its header to where one writes. */

import type { InboxEdit, Message, Thread } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import { emptyState, emptyStyles } from '../look/empty.ts';
import { icon, type IconName } from '../look/icons.ts';
import { tokens } from '../look/tokens.ts';
import { loadBlockedNote } from '../people/loading.ts';
import type { Stop } from '../session/element.ts';
import { Pane } from '../session/pane.ts';
import { nameOf, othersIn } from '../session/people.ts';
import type { Session } from '../session/session.ts';
import { watch } from '../session/watching.ts';
import { loadBookingHeader } from '../session/later.ts';
import { Arrivals } from './arrivals.ts';
import { Attention } from './attention.ts';
import { gist, nameIn } from './bubble.ts';
import type { GreenroomComposer } from './composer.ts';
import { Conversation } from './conversation.ts';
import { keepAboveKeyboard } from './keyboard_room.ts';
import type { MessageAction } from './message_actions.ts';
import { canEdit, whyClosed } from './rights.ts';
import { threadStyles } from './thread_styles.ts';
import type { GreenroomTimeline } from './timeline_view.ts';

@customElement('greenroom-thread')
export class GreenroomThread extends Pane {
  static override styles = [tokens, Pane.styles, emptyStyles, threadStyles];

  @property({ attribute: 'thread-id', reflect: true }) threadId: string | null = null;
  /** The arrow back to the list: `always`, `never`, or, unset, in a narrow box. */
  @property() back: string | null = null;
  /** The id of a panel element in the same page, which then follows this thread. */
  @property({ attribute: 'for' }) panelId: string | null = null;
  /** Whether the page shows this thread's panel, for the button that does it. */
  @property({ attribute: false }) hasPanel: boolean | null = null;
  /** There is no conversation at all that could be opened. */
  @property({ attribute: false }) hasNothing = false;
  /** Scrolls there and lights it up. */
  @property({ attribute: false }) messageToShow: string | null = null;
  @state() private conversation: Conversation | null = null;
  @state() private version = 0;
  @state() private replyTo: Message | null = null;
  @state() private editing: string | null = null;
  @state() private deleting: Message | null = null;
  @state() private problem = '';
  @state() private isDropping = false;
  /** The only other person is blocked by the reader. */
  @state() private isBlocking = false;
  @query('.frame') private frame!: HTMLElement | null;
  @query('greenroom-timeline') private timeline!: GreenroomTimeline | null;
  @query('greenroom-composer') private composer!: GreenroomComposer | null;
  #close: Stop | null = null;
  #arrivals: Arrivals | null = null;
  #attention: Attention | null = null;

  /** Where one writes is where the keyboard goes. */
  override focus(options?: FocusOptions): void {
    this.composer?.focus(options);
  }

  protected override joined(session: Session): Stop[] {
    const redraw = (): void => void (this.version += 1);
    const page = this.getRootNode();
    page.addEventListener('greenroom-show-message', this.#showFromPanel);
    return [
      session.client.on('connection', redraw),
      session.client.on('presence', (id) => {
        if (id === this.threadId) redraw();
      }),
      keepAboveKeyboard(this, () => this.frame),
      () => page.removeEventListener('greenroom-show-message', this.#showFromPanel),
      () => this.#leave(session),
    ];
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    const { session, threadId } = this;
    if (changed.has('threadId') || this.conversation === null) {
      const isOther = this.conversation?.threadId !== threadId;
      if (this.conversation && isOther && session) this.#leave(session);
      if (session?.userId && threadId && isOther) this.#open(session, threadId);
    }
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('threadId') || changed.has('panelId')) this.#tellPanel();
    if (this.messageToShow && this.timeline && this.conversation?.isFresh) {
      const messageId = this.messageToShow;
      this.messageToShow = null;
      void this.timeline.show(messageId);
    }
  }

  #open(session: Session, threadId: string): void {
    const conversation = new Conversation(session, threadId, {
      changed: () => (this.version += 1),
      arrived: (message) => this.#arrived(message),
    });
    this.conversation = conversation;
    this.#arrivals = new Arrivals(session.clock, {
      say: announce,
      many: (count) => this.words.thread.manyArrived(count),
    });
    this.#attention = new Attention(this, session, conversation, () => this.timeline);
    const stops = [conversation.open(), this.#attention.start()];
    this.#close = () => stops.forEach((stop) => stop());
    watch(session, this, 'thread', [threadId]);
  }

  #leave(session: Session): void {
    if (this.conversation) session.client.typing(this.conversation.threadId, false);
    watch(session, this, 'thread', []);
    this.#close?.();
    this.#arrivals?.stop();
    this.#close = this.#arrivals = this.#attention = null;
    this.conversation = null;
    this.replyTo = this.editing = this.deleting = null;
    this.problem = '';
    this.isBlocking = false;
  }

  protected override render(): TemplateResult {
    const { conversation, words } = this;
    if (!this.threadId) return this.#none();
    if (conversation?.status === 'missing') return this.#missing();
    if (conversation?.status === 'failed') return this.#failed(conversation);
    const thread = conversation?.thread ?? null;
    const client = this.session?.client;
    return html`<section
      class="frame ${this.isDropping ? 'dropping' : ''}"
      data-drop=${words.thread.dropHere}
      aria-label=${words.thread.conversation}
      @dragover=${this.#draggedOver}
      @dragleave=${() => (this.isDropping = false)}
      @drop=${this.#dropped}
    >
      <greenroom-thread-header
        .thread=${thread}
        .row=${conversation?.row ?? null}
        .typing=${client?.whoTypes(this.threadId) ?? []}
        .online=${client?.whoIsOnline(this.threadId) ?? []}
        .back=${this.back}
        .hasPanel=${this.hasPanel}
        @back=${this.#goBack}
        @panel=${this.#togglePanel}
        @edit-row=${this.#editRow}
        @read-all=${this.markAllRead}
      ></greenroom-thread-header>
      ${thread?.kind === 'project' ? bookingHeader(thread) : nothing} ${this.#banners()}
      <greenroom-timeline
        .conversation=${conversation}
        .reading=${this.#attention?.reading ?? null}
        .version=${this.version}
        .editing=${this.editing}
        .canWrite=${this.#closedText() === null && !this.isBlocking}
        @message-action=${this.#act}
        @edit-done=${this.#editDone}
        @discarded=${() => this.composer?.focus()}
        @jumped=${() => this.composer?.focus({ preventScroll: true })}
        @moved=${() => this.#attention?.look()}
        @read-all=${this.markAllRead}
      ></greenroom-timeline>
      ${this.#foot()}
      <greenroom-delete-question
        .message=${this.deleting}
        @close=${({ detail }: CustomEvent<boolean>) => this.#deleteIf(detail)}
      ></greenroom-delete-question>
    </section>`;
  }

  #banners(): TemplateResult {
    const { words, session } = this;
    const waiting = this.conversation?.sends.filter(({ state }) => state !== 'failed').length ?? 0;
    const isOffline = session?.client.connection.state === 'offline';
    return html`<div class="banners" role="status">
      ${
        isOffline
          ? html`<p class="banner">
              ${icon('warning')}<span>${words.thread.offline}</span>
              ${waiting > 0 ? html`<strong>${words.thread.waiting(waiting)}</strong>` : nothing}
            </p>`
          : nothing
      }
      ${
        this.problem
          ? html`<p class="banner problem">
              <span>${this.problem}</span>
              <button
                class="icon-button"
                aria-label=${words.look.close}
                @click=${() => (this.problem = '')}
              >
                ${icon('close')}
              </button>
            </p>`
          : nothing
      }
    </div>`;
  }

  #foot(): TemplateResult {
    const closed = this.#closedText();
    if (closed !== null) return html`<p class="closed">${closed}</p>`;
    const { isFresh, thread } = this.conversation ?? {};
    if (isFresh) loadBlockedNote().catch(() => {});
    return html`<greenroom-blocked-note
        .thread=${thread ?? null}
        @blocked=${({ detail }: CustomEvent<boolean>) => (this.isBlocking = detail)}
        @unblocked=${() => this.updateComplete.then(() => this.focus())}
      ></greenroom-blocked-note>
      ${
        this.isBlocking
          ? nothing
          : html`<greenroom-composer
              .thread=${thread ?? null}
              .replyTo=${this.replyTo}
              @sent=${this.#sent}
              @edit-last=${this.#editLast}
              @reply-cancel=${() => (this.replyTo = null)}
            ></greenroom-composer>`
      }`;
  }

  /** Why nobody can write here; null where one can. */
  #closedText(): string | null {
    const thread = this.conversation?.thread;
    const { userId } = this;
    if (!thread) return null;
    const { thread: words } = this.words;
    const others = this.format.list(othersIn(thread, userId).map(nameOf));
    const texts = {
      locked: words.locked,
      system: words.system,
      gone: words.youLeft,
      blocked: words.youAreBlocked,
      alone: words.othersLeft(others),
    };
    const why = whyClosed(thread, userId);
    return why && texts[why];
  }

  /** The page may say what to do: its slot `empty`. */
  #none(): TemplateResult {
    const { look, thread } = this.words;
    const slot = html`<slot name="empty"></slot>`;
    if (!this.session || this.session.isSignedOut) {
      return this.#still('person', look.signedOut, look.signedOutText);
    }
    return this.hasNothing
      ? this.#still('edit', thread.nothingYet, thread.nothingYetHint, slot)
      : this.#still('inbox', thread.nothingChosen, thread.nothingChosenHint, slot);
  }

  #missing(): TemplateResult {
    const { thread } = this.words;
    const way = html`<button class="button" @click=${this.#goBack}>${thread.toList}</button>`;
    return this.#still('search', thread.missing, thread.missingHint, way);
  }

  #failed(conversation: Conversation): TemplateResult {
    const { thread, look } = this.words;
    const again = (): void => void conversation.load();
    const way = html`<button class="button" @click=${again}>${look.retry}</button>`;
    const why = this.session?.explain(conversation.problem) ?? '';
    return this.#still('warning', thread.loadFailed, why, way);
  }

  #still(sign: IconName, title: string, text: string, way?: TemplateResult): TemplateResult {
    return html`<section class="frame" aria-label=${this.words.thread.conversation}>
      ${emptyState(sign, title, text, way)}
    </section>`;
  }

  #arrived(message: Message): void {
    const { conversation, session, words } = this;
    if (!session || !conversation || message.author_id === session.userId) return;
    const context = { session, thread: conversation.thread };
    if (message.system) return this.#arrivals?.add(gist(message, context));
    const name = nameIn(context, message.author_id, true);
    const text = words.thread.said(name, gist(message, context));
    this.#arrivals?.add(message.card ? words.thread.sentCard(name) : text);
  }

  /** All that is here counts as read, seen or not. */
  readonly markAllRead = (): void => {
    if (!this.conversation?.isFresh) return;
    this.#attention?.readAll();
    announce(this.words.thread.allRead);
    this.composer?.focus({ preventScroll: true });
  };

  readonly #sent = (): void => {
    this.replyTo = null;
    this.#attention?.readAll();
    void this.timeline?.toEnd();
  };

  readonly #draggedOver = (event: DragEvent): void => {
    if (!event.dataTransfer?.types.includes('Files') || !this.composer) return;
    event.preventDefault();
    this.isDropping = true;
  };

  readonly #dropped = (event: DragEvent): void => {
    this.isDropping = false;
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0 || !this.composer) return;
    event.preventDefault();
    void this.composer.attach(files);
  };

  readonly #act = (event: CustomEvent<{ action: MessageAction; message: Message }>): void => {
    const { action, message } = event.detail;
    if (action === 'reply') this.replyTo = message;
    if (action === 'edit') void this.#edit(message);
    if (action === 'delete') void this.#askToDelete(message);
    if (action === 'copy') void this.#copy(message);
    if (action === 'reply') this.composer?.focus();
  };

  async #edit(message: Message): Promise<void> {
    if (await this.#fetched(import('./edit_box.ts'))) this.editing = message.id;
  }

  async #askToDelete(message: Message): Promise<void> {
    if (await this.#fetched(import('./delete_question.ts'))) this.deleting = message;
  }

  /** The editor and the question are fetched when somebody wants them. */
  async #fetched(part: Promise<unknown>): Promise<boolean> {
    try {
      await part;
      this.problem = '';
      return true;
    } catch {
      this.problem = this.words.look.unreachable;
      return false;
    }
  }

  async #copy(message: Message): Promise<void> {
    this.problem = '';
    try {
      await navigator.clipboard.writeText(message.body);
      announce(this.words.thread.copied);
    } catch {
      this.problem = this.words.thread.copyFailed;
    }
  }

  readonly #editLast = (): void => {
    const own = this.conversation?.loaded.messages.findLast(
      ({ author_id }) => author_id === this.session?.userId,
    );
    if (own && canEdit(own, this)) void this.#edit(own);
  };

  readonly #editDone = (event: CustomEvent<{ messageId: string }>): void => {
    this.editing = null;
    void this.timeline?.focusMessage(event.detail.messageId);
  };

  async #deleteIf(isSure: boolean): Promise<void> {
    const message = this.deleting;
    this.deleting = null;
    if (!message || !isSure) return;
    this.problem = '';
    try {
      await this.session?.client.rest.delete(message.thread_id, message.id);
      announce(this.words.thread.deletedNow);
    } catch (error) {
      this.problem = this.session?.explain(error) ?? '';
    }
    void this.timeline?.focusMessage(message.id);
  }

  readonly #editRow = async (event: CustomEvent<{ edit: InboxEdit }>): Promise<void> => {
    this.problem = '';
    try {
      await this.conversation?.patchRow(event.detail.edit);
    } catch (error) {
      this.problem = this.session?.explain(error) ?? '';
    }
  };

  readonly #goBack = (): void => void this.tell('greenroom-close');

  get #panel(): HTMLElement | null {
    const root = this.getRootNode() as Document | ShadowRoot;
    return this.panelId ? root.getElementById(this.panelId) : null;
  }

  #tellPanel(): void {
    if (this.threadId) this.#panel?.setAttribute('thread-id', this.threadId);
    else this.#panel?.removeAttribute('thread-id');
  }

  /** A panel that lies over this conversation makes way for what it wants to show. */
  readonly #showFromPanel = (event: Event): void => {
    const panel = this.#panel;
    if (!panel || event.target !== panel) return;
    if (getComputedStyle(panel).position === 'absolute') panel.hidden = true;
    this.messageToShow = (event as CustomEvent<{ messageId: string }>).detail.messageId;
  };

  readonly #togglePanel = (): void => {
    const isTaken = !this.tell('greenroom-panel', { threadId: this.threadId });
    const panel = this.#panel;
    if (panel && !isTaken) panel.hidden = !panel.hidden;
  };
}

/** It shows nothing before it knows the booking, so it may come later. */
function bookingHeader(thread: Thread): TemplateResult {
  loadBookingHeader().catch(() => {});
  return html`<greenroom-booking-header .thread=${thread}></greenroom-booking-header>`;
}
