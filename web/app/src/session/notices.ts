/** Texts of system messages. The server sends a code and parameters; this makes a sentence of them. */

import type { SystemNotice, Thread } from '@greenroom/sdk';

import { nameOf, personIn } from './people.ts';
import type { Session } from './session.ts';

/** As much of a session as words take. */
export type Speaker = Pick<Session, 'userId' | 'words' | 'format'>;

/** A code that is newer than this page says only that something happened. */
export function noticeText(notice: SystemNotice, thread: Thread | null, session: Speaker): string {
  const { notices } = session.words.inbox;
  const { params } = notice;
  switch (notice.code) {
    case 'marketplace':
      return (params['text'] as string | undefined) ?? '';
    case 'participant.added':
      return aboutPerson(params, thread, session, notices.joined, notices.youJoined);
    case 'participant.left':
      return aboutPerson(params, thread, session, notices.hasLeft, notices.youLeft);
    case 'participant.removed':
      return aboutPerson(params, thread, session, notices.removed, notices.youWereRemoved);
    case 'thread.promoted':
      return notices.promoted;
    case 'thread.next_booking':
      return notices.nextBooking;
    case 'booking.proposed':
      return notices.proposed(proposedIn(params, session));
    case 'booking.confirmed':
      return notices.confirmed(priceIn(params, session));
    case 'booking.payment_failed':
      return notices.paymentFailed(priceIn(params, session));
    case 'booking.payment_disputed':
      return notices.paymentDisputed;
    case 'booking.payment_dispute_won':
      return notices.paymentDisputeWon;
    case 'booking.payment_dispute_lost':
      return notices.paymentDisputeLost;
    case 'booking.dispute_ended':
      return notices.disputeEnded;
    case 'booking.cancelled':
      return cancelled(params, thread, session);
    default:
      return notices.unknown;
  }
}

type Params = SystemNotice['params'];

function aboutPerson(
  params: Params,
  thread: Thread | null,
  session: Speaker,
  say: (name: string) => string,
  sayYou: string,
): string {
  const userId = (params['user_id'] as string | undefined) ?? '';
  if (userId !== '' && userId === session.userId) return sayYou;
  const person = personIn(thread, userId);
  return say(person ? nameOf(person) : session.words.inbox.notices.someone);
}

function priceIn(params: Params, { format }: Speaker): string | null {
  const { amount_cents, currency } = params;
  if (typeof amount_cents !== 'number' || typeof currency !== 'string') return null;
  return format.money({ amount_cents, currency });
}

/** What and when, for a booking of one leg; and for how much. */
function proposedIn(params: Params, session: Speaker): string {
  const { title, start, end } = params;
  const isOne = typeof start === 'string' && typeof end === 'string';
  const parts = [title, isOne ? session.format.range(start, end) : '', priceIn(params, session)];
  return parts.filter(Boolean).join(' · ');
}

/** By a side of the booking; without one by the marketplace. */
function cancelled(params: Params, thread: Thread | null, session: Speaker): string {
  const { notices } = session.words.inbox;
  const people = thread?.participants.filter((each) => each.role === params['by']) ?? [];
  if (people.some((each) => each.user_id === session.userId)) return notices.youCancelled;
  const [person] = people;
  return person ? notices.cancelledBy(nameOf(person)) : notices.cancelled;
}
