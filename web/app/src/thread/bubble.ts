/** One message, one send that waits, one notice: as templates of the timeline. */

import type { Message, Send, Thread } from '@greenroom/sdk';
import { html, nothing, svg, type TemplateResult } from 'lit';
import { classMap } from 'lit/directives/class-map.js';
import { guard } from 'lit/directives/guard.js';

import { icon } from '../look/icons.ts';
import { firstNameOf, nameOf, personIn } from '../session/people.ts';
import { noticeText } from '../session/notices.ts';
import type { Session } from '../session/session.ts';
import { plainText, richText } from './rich_text.ts';
import { excerptOf, isEmojiOnly } from './text.ts';
import type { MessageRow, PendingRow } from './timeline.ts';

export type Progress = 'sent' | 'delivered' | 'read';

const SENT = svg`<path d="M6.500 8.500l3 3 6-7" />`;
const DELIVERED = svg`<path d="M2.500 8.500l3 3 6-7M9 11.500l1 .500 6.500-7.500" />`;
/** A disc behind them, so that it does not take a colour to tell. */
const READ = svg`<rect width="22" height="16" rx="8" />
  <path d="M4 8.500l2.500 2.500L12 5M10 10.500l.800.700L17 5" />`;

export interface BubbleContext {
  readonly session: Session;
  readonly thread: Thread | null;
  /** More than two people: each is named. */
  readonly isGroup: boolean;
  original(messageId: string): Message | undefined;
  showMessage(messageId: string): void;
  retry(send: Send): void;
  discard(send: Send): void;
  /** The rest of a message of which files were refused. */
  sendRest(send: Send): void;
}

export type Speaking = Pick<BubbleContext, 'session' | 'thread'>;

export interface BubbleState {
  readonly progress: Progress | null;
  /** The time, and how far it has got: at the end of a group, and where they change. */
  readonly hasFooter: boolean;
  readonly tabindex: number;
  readonly isFlashed: boolean;
  /** The editor, where the message is being edited. */
  readonly editor: TemplateResult | null;
  readonly tools: TemplateResult | null;
}

export function messageBubble(
  row: MessageRow,
  state: BubbleState,
  context: BubbleContext,
): TemplateResult {
  const { message, key, isOwn, isFirst } = row;
  if (message.kind === 'system') return notice(row, state, context);
  const isCard = message.kind === 'card';
  const classes = { ...placeClasses(row), card: isCard, flash: state.isFlashed };
  const name = nameIn(context, message.author_id);
  return html`<article
    class=${classMap({ row: true, pair: !context.isGroup, ...classes })}
    data-key=${key}
    data-id=${message.id}
    tabindex=${state.tabindex}
    aria-label=${labelOf(row, state.progress, context)}
    aria-describedby=${`body-${key}`}
  >
    ${isOwn ? nothing : avatar(row, context)}
    <div class="column">
      ${
        isFirst && !isOwn && context.isGroup
          ? html`<span class="name" aria-hidden="true">${name}</span>`
          : nothing
      }
      <div class="line">
        ${state.editor ?? content(message, key, context)} ${state.editor ? nothing : state.tools}
      </div>
      ${state.hasFooter ? footer(message, state.progress, context) : nothing}
    </div>
  </article>`;
}

export function pendingBubble(row: PendingRow, context: BubbleContext, tabindex: number) {
  const { send, key } = row;
  const { thread, look } = context.session.words;
  const isFailed = send.state === 'failed';
  const hasFiles = Boolean(send.files);
  const hasRefused = send.files?.some(({ problem }) => problem);
  const waiting = thread[send.state === 'queued' ? 'queued' : 'sending'];
  const label = [thread.you, thread[send.state === 'sent' ? 'sending' : send.state]].join(', ');
  return html`<article
    class=${classMap({ row: true, ...placeClasses(row), pending: true, failed: isFailed })}
    data-key=${key}
    tabindex=${tabindex}
    aria-label=${label}
    aria-describedby=${`body-${key}`}
  >
    <div class="column">
      <div class="line">
        <div class=${classMap({ bubble: true, files: hasFiles })} id=${`body-${key}`}>
          ${send.replyTo ? quote(send.replyTo, context) : nothing}
          ${
            hasFiles ? html`<greenroom-attachments .send=${send}></greenroom-attachments>` : nothing
          }
          ${send.body ? html`<div class="plain" dir="auto">${send.body}</div>` : nothing}
        </div>
      </div>
      ${
        isFailed
          ? html`<div class="failure">
              <p>
                ${icon('warning')}
                <span>${thread.failed}. ${whyFailed(send, context.session)}</span>
              </p>
              ${
                hasRefused
                  ? html`<greenroom-send-state
                      .send=${send}
                      @without=${() => context.sendRest(send)}
                    ></greenroom-send-state>`
                  : html`<button class="button small" @click=${() => context.retry(send)}>
                      ${look.retry}
                    </button>`
              }
              <button class="button small plain" @click=${() => context.discard(send)}>
                ${thread.discard}
              </button>
            </div>`
          : row.isLast || hasFiles
            ? html`<div class="meta">
                ${
                  hasFiles
                    ? html`<greenroom-send-state
                        .send=${send}
                        .otherwise=${waiting}
                      ></greenroom-send-state>`
                    : html`${icon('clock')}<span>${waiting}</span>`
                }
              </div>`
            : nothing
      }
    </div>
  </article>`;
}

/** In the person's language where we know the code, else as the server says it. */
function whyFailed({ problem }: Send, { words }: Session): string {
  const reasons: Record<string, string> = words.thread.reasons;
  if (!problem) return '';
  const known = reasons[problem.code];
  return known ?? [problem.detail || problem.title, problem.hint].filter(Boolean).join(' – ');
}

function notice(row: MessageRow, state: BubbleState, context: BubbleContext) {
  const { message, key } = row;
  return html`<article
    class=${classMap({ row: true, notice: true, first: true, flash: state.isFlashed })}
    data-key=${key}
    data-id=${message.id}
    tabindex=${state.tabindex}
  >
    ${message.body ? ownWords(message, context) : pageWords(message, context)}
  </article>`;
}

/** A notice in the words of the marketplace, which are formatted as a message's. */
function ownWords(message: Message, { session }: BubbleContext) {
  return html`<div class="said">
    <div class="rich" dir="auto">
      ${guard([message.body_html], () => richText(message.body_html, message.body))}
    </div>
    ${noticeTime(message, session)}
  </div>`;
}

/** A notice that only has a code: the page has the words. */
function pageWords(message: Message, { session, thread }: BubbleContext) {
  const text = message.system && noticeText(message.system, thread, session);
  return html`<p>${text} ${noticeTime(message, session)}</p>`;
}

function noticeTime({ created_at }: Message, { format }: Session) {
  return html`<time datetime=${created_at} title=${format.full(created_at)}
    >${format.time(created_at)}</time
  >`;
}

function placeClasses({ isOwn, isFirst, isLast }: MessageRow | PendingRow) {
  return { own: isOwn, other: !isOwn, first: isFirst, last: isLast };
}

/** Once for each group, at its end; the space of it stays beside the others. */
function avatar(row: MessageRow, { thread, session }: BubbleContext): TemplateResult {
  const person = personIn(thread, row.message.author_id);
  if (!row.isLast || !person) return html`<span class="no-avatar"></span>`;
  return html`<greenroom-avatar
    .name=${nameOf(person)}
    .userId=${person.user_id}
    .src=${session.avatarOf(person)}
  ></greenroom-avatar>`;
}

function content(message: Message, key: string, context: BubbleContext): TemplateResult {
  const { words } = context.session;
  const id = `body-${key}`;
  if (message.deleted_at) {
    return html`<div class="bubble gone" id=${id}>${icon('bin')} ${words.thread.deleted}</div>`;
  }
  if (message.card) {
    return html`<div class="card-slot" id=${id}>
      ${message.reply_to ? quote(message.reply_to, context) : nothing}
      <greenroom-card .card=${message.card}></greenroom-card>
    </div>`;
  }
  const hasFiles = message.attachments.length > 0;
  const isLarge = !message.reply_to && !hasFiles && isEmojiOnly(message.body);
  return html`<div
    class=${classMap({ bubble: true, large: isLarge, files: hasFiles })}
    id=${id}
    part="bubble"
  >
    ${message.reply_to ? quote(message.reply_to, context) : nothing}
    ${
      hasFiles
        ? html`<greenroom-attachments .attachments=${message.attachments}></greenroom-attachments>`
        : nothing
    }
    ${
      message.body
        ? html`<div class="rich" dir="auto">
            ${guard([message.body_html], () => richText(message.body_html, message.body))}
          </div>`
        : nothing
    }
  </div>`;
}

function quote(messageId: string, context: BubbleContext): TemplateResult {
  const original = context.original(messageId);
  const { thread } = context.session.words;
  const name = original && nameIn(context, original.author_id);
  return html`<button
    class="quote"
    aria-label=${[thread.showOriginal, name, original && gist(original, context)]
      .filter(Boolean)
      .join(', ')}
    @click=${() => context.showMessage(messageId)}
  >
    ${name ? html`<strong>${name}</strong>` : nothing}
    <span dir="auto">${original ? gist(original, context) : thread.originalNotLoaded}</span>
  </button>`;
}

/** A message in a line of plain words. */
export function gist(message: Message, { session, thread }: Speaking): string {
  const { words } = session;
  if (message.deleted_at) return words.thread.deleted;
  if (message.system) return noticeText(message.system, thread, session);
  if (message.card) return words.thread.cardMessage;
  const { attachments } = message;
  if (message.body || attachments.length === 0) {
    return excerptOf(plainText(message.body_html, message.body));
  }
  const [first] = attachments;
  const isSame = attachments.every(({ file }) => file.media === first?.file.media);
  return words.look.files(isSame ? (first?.file.media ?? 'other') : 'other', attachments.length);
}

export function nameIn(
  { thread, session }: Speaking,
  userId: string | null,
  isShort = false,
): string {
  const { words } = session;
  if (userId === session.userId) return words.thread.you;
  const person = personIn(thread, userId);
  if (!person) return words.thread.unknownPerson;
  return isShort ? firstNameOf(person) : nameOf(person);
}

function footer(
  message: Message,
  progress: Progress | null,
  { session }: BubbleContext,
): TemplateResult {
  const { edited } = session.words.thread;
  return html`<div class="meta">
    ${message.edited_at && !message.deleted_at ? html`<span>${edited}</span>` : nothing}
    <time datetime=${message.created_at} title=${session.format.full(message.created_at)}
      >${session.format.time(message.created_at)}</time
    >
    ${progress && !message.deleted_at ? ticks(progress, session) : nothing}
  </div>`;
}

/** One tick: sent. Two: delivered. Two, filled: read. */
function ticks(progress: Progress, { words }: Session): TemplateResult {
  return html`<svg
    class=${`ticks ${progress}`}
    viewBox="0 0 22 16"
    role="img"
    aria-label=${words.thread[progress]}
  >
    ${progress === 'read' ? READ : progress === 'delivered' ? DELIVERED : SENT}
  </svg>`;
}

function labelOf({ message }: MessageRow, progress: Progress | null, context: BubbleContext) {
  const { words, format } = context.session;
  const parts = [
    nameIn(context, message.author_id),
    format.time(message.created_at),
    message.edited_at && !message.deleted_at ? words.thread.edited : '',
    progress ? words.thread[progress] : '',
  ];
  return parts.filter(Boolean).join(', ');
}
