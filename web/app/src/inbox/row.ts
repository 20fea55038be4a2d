/** One row of the inbox: who, about what, what was last said, and how it stands. */

import type { Marks, Send, Thread } from '@greenroom/sdk';
import { progressOf } from '@greenroom/sdk';
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit';

import { icon, type IconName } from '../look/icons.ts';
import { othersIn } from '../session/people.ts';
import type { Session } from '../session/session.ts';
import { draftOf } from '../session/drafts.ts';
import type { Row } from './folders.ts';
import { previewOf, titleOf } from './preview.ts';

/** Where a row stands in the list, and what the list does with it. */
export interface Place {
  readonly index: number;
  /** Below zero while nobody knows. */
  readonly count: number;
  readonly isActive: boolean;
  readonly isCurrent: boolean;
  readonly isMenuOpen: boolean;
  readonly nowMs: number;
  readonly cards: ReadonlyMap<string, string>;
  open(): void;
  showMenu(owner: HTMLElement): void;
}

type Progress = 'waiting' | 'failed' | 'sent' | 'delivered' | 'read';

const MOST_UNREAD = 99;

export function rowTemplate(row: Row, session: Session, place: Place): TemplateResult {
  const { thread, inbox } = row;
  const words = session.words.inbox;
  const title = titleOf(thread, session);
  const isMuted = isMutedAt(row, place.nowMs);
  const classes = [
    inbox.unread_count > 0 && 'unread',
    isMuted && 'muted',
    place.isMenuOpen && 'menu-open',
  ];
  return html`<li
    part="row"
    class=${classes.filter(Boolean).join(' ')}
    data-index=${place.index}
    data-id=${thread.id}
    aria-setsize=${place.count}
    aria-posinset=${place.index + 1}
  >
    <button
      class="open"
      tabindex=${place.isActive ? 0 : -1}
      aria-current=${place.isCurrent ? 'true' : nothing}
      @click=${() => place.open()}
    >
      ${avatar(thread, session)}
      <span class="text">
        <span class="name"
          ><span class="cut" dir="auto">${title}</span>${marks(row, isMuted, session)}
          ${time(row, session, place)}</span
        >
        <span class="subject"
          ><span class="cut" dir="auto">${thread.subject}</span>${badges(row, session)}</span
        >
        ${said(row, session, place)}
      </span>
    </button>
    <button
      class="icon-button more"
      tabindex=${place.isActive ? 0 : -1}
      aria-haspopup="menu"
      aria-expanded=${place.isMenuOpen}
      aria-label=${words.actionsFor(title)}
      @click=${(event: Event) => place.showMenu(event.currentTarget as HTMLElement)}
    >
      ${icon('more')}
    </button>
  </li>`;
}

export function isMutedAt({ inbox }: Row, nowMs: number): boolean {
  return inbox.muted_until !== null && Date.parse(inbox.muted_until) > nowMs;
}

function avatar(thread: Thread, session: Session): TemplateResult {
  const [first] = othersIn(thread, session.userId);
  const isOnline = Boolean(first && session.client.whoIsOnline(thread.id).includes(first.user_id));
  return html`<greenroom-avatar
      name=${first?.display_name ?? ''}
      user-id=${first?.user_id ?? ''}
      .src=${first ? session.avatarOf(first) : null}
      ?online=${isOnline}
    ></greenroom-avatar
    >${
      isOnline ? html`<span class="visually-hidden">${session.words.inbox.online}</span>` : nothing
    }`;
}

function marks(
  { inbox }: Row,
  isMuted: boolean,
  session: Session,
): TemplateResult | typeof nothing {
  if (!inbox.pinned && !inbox.starred && !isMuted) return nothing;
  const words = session.words.inbox;
  const mark = (name: IconName, label: string, classes = ''): TemplateResult =>
    html`<span class=${classes} title=${label}
      >${icon(name)}<span class="visually-hidden">${label}</span></span
    >`;
  return html`<span class="marks"
    >${inbox.pinned ? mark('pin', words.pinned) : nothing}${
      inbox.starred ? mark('star', words.starred, 'starred') : nothing
    }${isMuted ? mark('muted', words.muted) : nothing}</span
  >`;
}

function time(
  { inbox }: Row,
  { format }: Session,
  { nowMs }: Place,
): TemplateResult | typeof nothing {
  const at = inbox.last_message_at;
  if (!at) return nothing;
  return html`<time datetime=${at} title=${format.full(at)}>${format.short(at, nowMs)}</time>`;
}

function badges({ inbox }: Row, { words }: Session): TemplateResult[] {
  const shown = inbox.badges.filter((badge) => badge !== 'muted');
  return shown.map(
    (badge) =>
      html`<span class="badge ${badge}"
        >${badge === 'action' ? words.inbox.needsYou : words.inbox.booking}</span
      >`,
  );
}

function said(row: Row, session: Session, place: Place): TemplateResult {
  const { thread, inbox } = row;
  const { client, userId, words } = session;
  const send = client.sends(thread.id).findLast((each) => each.state !== 'sent') ?? null;
  const draft = place.isCurrent ? '' : draftOf(userId, thread.id);
  const typing = client.whoTypes(thread.id);
  const preview = previewOf(row, { typing, draft, send, cards: place.cards }, session);
  const progress = preview.kind === 'said' ? progressIn(row, session, send) : null;
  const isDraft = preview.kind === 'draft';
  const classes = { typing: 'typing', quiet: 'quiet-said', said: '', draft: '' }[preview.kind];
  const count = inbox.unread_count;
  return html`<span class="said"
    >${progress ? ticks(progress, session) : nothing}${
      isDraft ? html`<span class="draft">${words.inbox.draft}</span>` : nothing
    }<span class="cut ${classes}" dir="auto">${preview.text}</span>${
      count > 0
        ? html`<span class="pill" aria-hidden="true"
              >${count > MOST_UNREAD ? `${MOST_UNREAD}+` : session.format.number(count)}</span
            ><span class="visually-hidden">${words.inbox.unreadMessages(count)}</span>`
        : nothing
    }</span
  >`;
}

/** Of the viewer's own last message: how far it has got. */
function progressIn({ thread, inbox }: Row, session: Session, send: Send | null): Progress | null {
  if (send) return send.state === 'failed' ? 'failed' : 'waiting';
  const last = inbox.last_message;
  if (last?.author_id !== session.userId || last.system || last.deleted_at) return null;
  const told = session.client.state.threads.get(thread.id)?.marks ?? {};
  return progressOf({ thread, marks: { ...marksOf(thread), ...told } }, last);
}

/** For threads so far down that the client no longer keeps them. */
function marksOf(thread: Thread): Record<string, Marks> {
  const marks = thread.participants.map(({ user_id, last_read, last_delivered }) => {
    const delivered = last_delivered ?? last_read;
    const own = { ...(delivered && { delivered }), ...(last_read && { read: last_read }) };
    return [user_id, own] as const;
  });
  return Object.fromEntries(marks);
}

/** How wide each is, and its lines. */
const SIGNS: Record<Progress, readonly [number, SVGTemplateResult]> = {
  waiting: [18, svg`<circle cx="9" cy="12" r="7" /><path d="M9 8v4l2.500 1.500" />`],
  failed: [18, svg`<circle cx="9" cy="12" r="7" /><path d="M9 8.500v4M9 15.500h.01" />`],
  sent: [18, svg`<path d="M2 12.500l4.500 4.500L16 7" />`],
  delivered: [25, svg`<path d="M2 12.500l4.500 4.500L16 7M12.500 16l1 1L23 7" />`],
  read: [25, svg`<path d="M2 12.500l4.500 4.500L16 7M12.500 16l1 1L23 7" />`],
};

function ticks(progress: Progress, { words }: Session): TemplateResult {
  const { inbox } = words;
  const label = progress === 'failed' ? inbox.sendFailed : inbox[progress];
  const [width, lines] = SIGNS[progress];
  return html`<span class="ticks ${progress}" title=${label}
    ><svg viewBox="0 4 ${width} 16" aria-hidden="true">${lines}</svg
    ><span class="visually-hidden">${label}</span></span
  >`;
}
