/** The messages of a thread: drawn, scrolled, walked through by keys. */

import { type Message, progressOf, type Send } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { guard } from 'lit/directives/guard.js';
import { repeat } from 'lit/directives/repeat.js';

import type { GreenroomMenu } from '../look/menu.ts';
import { GreenroomElement } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { type BubbleContext, messageBubble, pendingBubble, type Progress } from './bubble.ts';
import { bubbleStyles } from './bubble_styles.ts';
import { onLongPress } from './long_press.ts';
import {
  actionOfKey,
  actionsFor,
  type Actor,
  menuItems,
  type MessageAction,
} from './message_actions.ts';
import { messageTools } from './message_tools.ts';
import { loadAttachments, loadCards, loadWorks } from '../session/later.ts';
import { latestButton, newAboveBar, noMessages, timelineTop } from './timeline_edges.ts';
import { ScrolledTimeline } from './timeline_scroll.ts';
import { timelineStyles } from './timeline_styles.ts';
import { type Day, daysOf, type MessageRow, type Row } from './timeline.ts';

@customElement('greenroom-timeline')
export class GreenroomTimeline extends ScrolledTimeline {
  static override styles = [GreenroomElement.styles, timelineStyles, bubbleStyles];

  @property({ attribute: false }) editing: string | null = null;
  @property({ attribute: false }) canWrite = true;
  /** The message that the tab key comes to. */
  @state() private current: string | null = null;
  /** The one whose tools are shown. */
  @state() private pointed: string | null = null;
  @query('greenroom-menu') private menu!: GreenroomMenu;
  #days: readonly Day[] = [];
  #stopPressing: (() => void) | null = null;
  /** The last touch was on a control. */
  #isDoing = false;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stopPressing?.();
    this.#stopPressing = null;
  }

  /** Back from an editor or a dialog. */
  async focusMessage(messageId: string): Promise<void> {
    await this.updateComplete;
    this.elementOf(messageId)?.focus();
  }

  /** What draws cards and files comes with the first of them. To draw without it would make all that
   * stands around them move a moment later. */
  protected override async scheduleUpdate(): Promise<unknown> {
    const { loaded, sends } = this.conversation ?? {};
    const messages = loaded?.messages ?? [];
    const hasFiles =
      messages.some(({ attachments }) => attachments.length > 0) ||
      sends?.some(({ files }) => files);
    const missing: Promise<unknown>[] = [];
    if (hasFiles && !customElements.get('greenroom-attachments')) {
      missing.push(loadAttachments(this.session?.locale ?? 'en'));
    }
    if (messages.some(({ card }) => card) && !customElements.get('greenroom-card')) {
      missing.push(loadCards());
    }
    if (missing.length > 0) await Promise.allSettled(missing);
    return super.scheduleUpdate();
  }

  /** What has been taken out of the page has no session, and nobody sees it. */
  protected override shouldUpdate(): boolean {
    return this.session !== null;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    this.#days = this.#daysToShow();
    const rows = this.#rows;
    if (!rows.some(({ key }) => key === this.current)) this.current = rows.at(-1)?.key ?? null;
  }

  protected override render(): TemplateResult {
    const { conversation, words, format } = this;
    const { thread } = words;
    const edge = { conversation, userId: this.viewer.userId, words, format };
    const isAtLatest = this.isAtEnd && this.span.last === Infinity;
    return html`<div
        class="scroller"
        part="timeline"
        role="log"
        aria-live="off"
        aria-label=${thread.messages}
        aria-description=${thread.shortcuts}
        @keydown=${this.#key}
        @wheel=${{ handleEvent: this.touched, passive: true }}
        @touchstart=${{ handleEvent: this.touched, passive: true }}
      >
        <div
          class="content"
          @pointerdown=${this.#pressed}
          @pointerover=${this.#pointed}
          @pointerleave=${() => (this.pointed = null)}
          @focusin=${this.#focused}
        >
          ${this.#days.length > 0 ? timelineTop(edge, this.span.first === 0) : noMessages(edge)}
          ${repeat(
            this.#days,
            ({ key }) => key,
            (day) => this.#day(day),
          )}
        </div>
      </div>
      ${
        this.newAbove > 0 && this.isAtEnd
          ? newAboveBar(
              this.newAbove,
              edge,
              () => void this.toNew(),
              () => this.#readAll(),
            )
          : nothing
      }
      ${isAtLatest ? nothing : latestButton(this.newBelow, edge, () => void this.jump())}
      <greenroom-menu without-button .label=${thread.actions}></greenroom-menu>`;
  }

  protected override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    this.#stopPressing ??= onLongPress(this.content, (path, at) => {
      if (!isControl(path)) this.#openMenu(rowIn(path), at);
    });
  }

  get #rows(): Row[] {
    return this.#days.flatMap(({ rows }) => rows).filter(({ type }) => type !== 'unread');
  }

  #daysToShow(): Day[] {
    const isToEnd = this.span.last === Infinity;
    return daysOf(this.shown, isToEnd ? (this.conversation?.sends ?? []) : [], this.viewer);
  }

  #day(day: Day): TemplateResult {
    return html`<section class="day" data-day=${day.key}>
      <h3><span>${this.format.day(day.at, this.nowMs)}</span></h3>
      ${repeat(
        day.rows,
        ({ key }) => key,
        (row, index) => this.#row(row, day.rows[index + 1]),
      )}
    </section>`;
  }

  #row(row: Row, next: Row | undefined): unknown {
    const { thread } = this.words;
    if (row.type === 'unread') return html`<div class="unread">${thread.newMessages}</div>`;
    const tabindex = row.key === this.current ? 0 : -1;
    if (row.type === 'pending') return pendingBubble(row, this.#context, tabindex);
    const { message } = row;
    const progress = this.#progressOf(row);
    const isProgressSame = next?.type === 'message' && this.#progressOf(next) === progress;
    const isEditedNow = message.edited_at !== null && message.deleted_at === null;
    const hasFooter = row.isLast || !isProgressSame || isEditedNow;
    const isEdited = this.editing === message.id;
    const isPointed = this.pointed === row.key;
    const isFlashed = this.flashed === message.id;
    const original = message.reply_to ? this.#context.original(message.reply_to) : null;
    const depends = [
      message, row.isFirst, row.isLast, tabindex, progress, hasFooter, isEdited, isPointed,
      isFlashed, original, this.words, this.format, this.conversation?.thread, this.canWrite,
    ]; // prettier-ignore
    return guard(depends, () =>
      messageBubble(
        row,
        {
          progress,
          hasFooter,
          tabindex,
          isFlashed,
          editor: isEdited
            ? html`<greenroom-edit-box .message=${message}></greenroom-edit-box>`
            : null,
          tools: isPointed ? this.#tools(message) : null,
        },
        this.#context,
      ),
    );
  }

  #progressOf({ message, isOwn }: MessageRow): Progress | null {
    const known = this.conversation?.state;
    return isOwn && known && message.kind !== 'system' ? progressOf(known, message) : null;
  }

  get #context(): BubbleContext {
    const { conversation, session } = this;
    const thread = conversation?.thread ?? null;
    return {
      session: session as Session,
      thread,
      isGroup: (thread?.participants.length ?? 0) > 2,
      original: (id) => conversation?.loaded.messages.find((each) => each.id === id),
      showMessage: (id) => void this.show(id),
      retry: ({ clientId }) => void session?.client.retry(clientId),
      discard: (send) => this.#drop(send),
      sendRest: (send) => this.#sendRest(send),
    };
  }

  #tools(message: Message): TemplateResult | null {
    return messageTools(actionsFor(message, this.#actor), this.words, {
      reply: () => this.#act('reply', message),
      more: this.#more,
    });
  }

  get #actor(): Actor {
    const { userId, nowMs, limits, canWrite } = this;
    return { userId, nowMs, limits, canWrite };
  }

  readonly #more = (event: Event): void => {
    const button = event.currentTarget as Element;
    this.#openMenu(rowIn(event.composedPath()), button.getBoundingClientRect());
  };

  /** One menu for all messages; it gives the focus back to the message. */
  #openMenu(row: HTMLElement | undefined, at: DOMRectInit | null): void {
    const id = row?.dataset['id'];
    const message = this.shown.find((each) => each.id === id);
    if (!row || !message) return;
    const actions = actionsFor(message, this.#actor);
    if (actions.length === 0) return;
    this.menu.items = menuItems(actions, this.words, (action) => this.#act(action, message));
    this.menu.openBy(row, at);
  }

  #act(action: MessageAction, message: Message): void {
    this.dispatchEvent(new CustomEvent('message-action', { detail: { action, message } }));
  }

  #readAll(): void {
    this.dispatchEvent(new CustomEvent('read-all'));
  }

  #sendRest({ clientId }: Send): void {
    const { session } = this;
    const refused = session?.client.sendWithoutRefused(clientId) ?? [];
    if (session && refused.length > 0) {
      void loadWorks().then(({ fileWorks }) => fileWorks(session).cancel(refused));
    }
  }

  #drop(send: Send): void {
    const { session } = this;
    if (session?.client.discard(send.clientId) && send.files) {
      void loadWorks().then(({ fileWorks }) => fileWorks(session).cancel(send.files));
    }
    this.conversation?.listSends();
    this.dispatchEvent(new CustomEvent('discarded'));
  }

  readonly #focused = (event: FocusEvent): void => {
    const key = rowIn(event.composedPath())?.dataset['key'];
    if (key === undefined) return;
    this.current = key;
    this.pointed = this.#isDoing ? null : key;
  };

  /** Whoever presses a button in a message wants that, and not the tools of the message. */
  readonly #pressed = (event: PointerEvent): void => {
    this.#isDoing = event.pointerType !== 'mouse' && isDeed(event.composedPath());
    if (this.#isDoing) this.pointed = null;
  };

  readonly #pointed = (event: PointerEvent): void => {
    // Some browsers let a mouse follow the finger: what lies under it then was not touched.
    if (event.pointerType !== 'mouse' || matchMedia('(pointer: coarse)').matches) return;
    this.pointed = rowIn(event.composedPath())?.dataset['key'] ?? null;
  };

  readonly #key = (event: KeyboardEvent): void => {
    this.touched();
    this.#isDoing = false;
    const target = event.composedPath()[0];
    if (!(target instanceof HTMLElement) || target.dataset['key'] === undefined) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.#walk(event.key) || this.#shortcut(event)) event.preventDefault();
  };

  #walk(key: string): boolean {
    const rows = this.#rows;
    const at = rows.findIndex((row) => row.key === this.current);
    const moves: Record<string, number> = {
      ArrowUp: Math.max(0, at - 1),
      ArrowDown: Math.min(rows.length - 1, at + 1),
      Home: 0,
      End: rows.length - 1,
    };
    const next = moves[key];
    const row = next === undefined ? undefined : rows[next];
    if (!row) return false;
    const element = this.content.querySelector<HTMLElement>(`[data-key="${CSS.escape(row.key)}"]`);
    element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: 'nearest' });
    return true;
  }

  #shortcut(event: KeyboardEvent): boolean {
    const row = this.#rows.find(({ key }) => key === this.current);
    if (row?.type !== 'message') return false;
    const isMenu = event.key === 'Enter' || event.key === 'ContextMenu';
    if (isMenu || (event.shiftKey && event.key === 'F10')) {
      this.#openMenu(this.elementOf(row.message.id) ?? undefined, null);
      return true;
    }
    const action = actionOfKey(event.key, row.message, this.#actor);
    if (action) this.#act(action, row.message);
    return action !== null;
  }
}

function rowIn(path: readonly EventTarget[]): HTMLElement | undefined {
  return path.find(
    (each): each is HTMLElement => each instanceof HTMLElement && 'key' in each.dataset,
  );
}

/** Links, buttons and cards do what they do. */
function isControl(path: readonly EventTarget[]): boolean {
  return isIn(path, 'a, button, greenroom-card');
}

/** The tools themselves are of the message. */
function isDeed(path: readonly EventTarget[]): boolean {
  return isIn(path, 'a, button, dialog') && !isIn(path, '.tools');
}

function isIn(path: readonly EventTarget[], selector: string): boolean {
  return path.some((each) => each instanceof Element && each.matches(selector));
}
