/** What a row says of its thread: who, and what was last said. Pure. */

import type { LastMessage, Participant, Send, Thread } from '@greenroom/sdk';

import { noticeText, type Speaker } from '../session/notices.ts';
import { firstNameOf, nameOf, othersIn, personIn } from '../session/people.ts';
import type { Row } from './folders.ts';

export interface Preview {
  /** `typing` and `draft` come before what was last said. */
  readonly kind: 'typing' | 'draft' | 'said' | 'quiet';
  readonly text: string;
}

export interface Around {
  readonly typing: readonly string[];
  readonly draft: string;
  /** The last one that is not in the thread yet. */
  readonly send: Send | null;
  /** Titles of cards by their type. */
  readonly cards: ReadonlyMap<string, string>;
}

export function titleOf(thread: Thread, session: Speaker): string {
  const others = othersIn(thread, session.userId);
  if (thread.kind === 'system') return thread.subject ?? session.words.inbox.kinds.system;
  if (others.length === 0) return session.words.inbox.nobody;
  const [only] = others;
  if (others.length === 1 && only) return nameOf(only);
  return session.format.list(others.map(nameOf));
}

/** A first name, where the name looks like a person's: `Mile End Loft` is not called Mile. */
function shortNameOf(person: Participant): string {
  const isPerson = nameOf(person).trim().split(/\s+/u).length <= 2;
  return isPerson ? firstNameOf(person) : nameOf(person);
}

export function previewOf({ thread, inbox }: Row, around: Around, session: Speaker): Preview {
  const words = session.words.inbox;
  const typing = around.typing
    .filter((id) => id !== session.userId)
    .flatMap((id) => personIn(thread, id) ?? [])
    .map(shortNameOf);
  if (typing.length > 0) {
    return { kind: 'typing', text: words.typing(typing, session.format.list(typing)) };
  }
  if (around.draft.trim()) return { kind: 'draft', text: oneLine(around.draft) };
  if (around.send) return { kind: 'said', text: words.you(sendText(around.send, session)) };
  const last = inbox.last_message;
  if (!last) return { kind: 'quiet', text: words.noMessage };
  return lastSaid(last, thread, around, session);
}

function lastSaid(last: LastMessage, thread: Thread, around: Around, session: Speaker): Preview {
  const words = session.words.inbox;
  const isOwn = last.author_id === session.userId;
  if (last.deleted_at) return { kind: 'quiet', text: isOwn ? words.youDeleted : words.deleted };
  if (last.system) {
    const text = last.preview || noticeText(last.system, thread, session);
    return { kind: 'quiet', text };
  }
  const text = contentOf(last, around, session);
  if (isOwn) return { kind: 'said', text: words.you(text) };
  const author = personIn(thread, last.author_id);
  const isCrowd = othersIn(thread, session.userId).length > 1;
  return { kind: 'said', text: author && isCrowd ? words.by(shortNameOf(author), text) : text };
}

function contentOf(last: LastMessage, around: Around, session: Speaker): string {
  const words = session.words.inbox;
  if (last.kind === 'card') return around.cards.get(last.card_type ?? '') ?? words.card;
  if (last.preview || !last.files) return last.preview;
  return session.words.look.files(last.files.media, last.files.count);
}

function sendText({ body, files = [] }: Send, session: Speaker): string {
  return oneLine(body) || session.words.look.files('other', files.length);
}

/** What is not sent yet is shown as it was typed. */
function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}
