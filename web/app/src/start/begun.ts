/** What is known before and after somebody is written to. Pure but for the browser's storage. */

import type { NewThread, Problem, State, Thread } from '@greenroom/sdk';

import type { Format } from '../i18n/format.ts';
import type { StartWords } from '../i18n/start.ts';
import { draftOf, saveDraft } from '../session/drafts.ts';
import type { Wish } from './opening.ts';

const TALKS: readonly Thread['kind'][] = ['inquiry', 'invite', 'project'];

/** The conversation of these two and nobody else that was in use last. */
export function talkWith(state: State, userId: string, to: string): Thread | null {
  let latest: Thread | null = null;
  for (const { thread } of state.threads.values()) {
    if (!thread || thread.locked || !TALKS.includes(thread.kind)) continue;
    const active = thread.participants.filter(({ status }) => status === 'active');
    const isOurs = active.length === 2 && [userId, to].every((id) => has(active, id));
    if (isOurs && (latest?.last_message_at ?? '') <= (thread.last_message_at ?? ''))
      latest = thread;
  }
  return latest;
}

function has(people: readonly { user_id: string }[], id: string): boolean {
  return people.some(({ user_id }) => user_id === id);
}

/** Where the text lies that was begun: beside the drafts of threads. */
export function draftPlace({ to, listing_key = '' }: Wish): string {
  return `start ${JSON.stringify([to, listing_key])}`;
}

/** The `client_id` of a text: the same until it is answered, also after the page was loaded anew. */
export function clientIdFor(userId: string, wish: Wish, body: string): string {
  const place = `try ${draftPlace(wish)}`;
  const deed = JSON.stringify([wish.subject, wish.role_context, body]);
  const [id, before] = split(draftOf(userId, place));
  if (id && before === deed) return id;
  const fresh = newId();
  saveDraft(userId, place, `${fresh} ${deed}`);
  return fresh;
}

/** The server has answered: the same text again is another message. */
export function answered(userId: string, wish: Wish): void {
  saveDraft(userId, `try ${draftPlace(wish)}`, '');
}

function split(kept: string): [string, string] {
  const at = kept.indexOf(' ');
  return [kept.slice(0, Math.max(0, at)), kept.slice(at + 1)];
}

/** Not `randomUUID`: pages that are not served securely do not have it. */
function newId(): string {
  const parts = crypto.getRandomValues(new Uint32Array(4));
  return Array.from(parts, (part) => part.toString(36)).join('-');
}

export function newThread(wish: Wish, clientId: string, body: string): NewThread {
  return {
    kind: 'inquiry',
    to: wish.to,
    subject: wish.subject || null,
    listing_key: wish.listing_key || null,
    role_context: wish.role_context || null,
    first_message: { client_id: clientId, body },
  };
}

export interface Telling {
  words: StartWords;
  format: Format;
  nowMs: number;
  /** Whom it is to. */
  name: string;
}

/** Why it was not sent, or null where the server's own words have to do. */
export function reasonOf(problem: Problem, { words, format, nowMs, name }: Telling): string | null {
  if (problem.status === 0) return words.unreachable;
  switch (problem.code) {
    case 'RATE_LIMITED': {
      const until = new Date(nowMs + Math.max(1000, problem.retryAfterMs)).toISOString();
      return words.tooMany(format.left(until, nowMs));
    }
    case 'USER_NOT_FOUND':
      return words.unknown;
    case 'MSG_TOO_LONG':
      return words.tooLong;
    case 'MSG_BLOCKED_BY_USER':
      return words.blocked(name);
    case 'THREAD_LOCKED':
      return words.locked;
    default:
      return null;
  }
}
