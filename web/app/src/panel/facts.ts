/** What the panel makes of the server's answers before it is drawn. Pure. */

import type { Booking, Card, DocumentRow, LegExpenses, PanelTimer } from '@greenroom/sdk';

const HOURS_PER_DAY = 24;
const HASH_START = 8;
const HASH_END = 4;

export interface OpenCards {
  mine: Card[];
  others: Card[];
}

/** Those that wait for the viewer come first; in each part the oldest first, as the server says. */
export function splitCards(cards: readonly Card[], userId: string): OpenCards {
  const isMine = (card: Card): boolean => card.waits_for.includes(userId);
  return { mine: cards.filter(isMine), others: cards.filter((card) => !isMine(card)) };
}

/** A payout is released first and paid out later, under one payment: once it is paid out, that alone
 * is shown. */
export function receiptsToShow(receipts: LegExpenses['receipts']): LegExpenses['receipts'] {
  const paid = new Set(
    receipts.flatMap((each) => (each.kind === 'payout.paid' ? each.payment_id : [])),
  );
  return receipts.filter((each) => each.kind !== 'payout.released' || !paid.has(each.payment_id));
}

export type Notice =
  | { unit: 'days'; count: number }
  | { unit: 'hours'; count: number }
  | { unit: 'anytime' | 'later' };

export interface Tier {
  notice: Notice;
  refundPercent: number;
}

/** The policy's steps, the longest notice first. Whole days are said as days. */
export function tiersOf(policy: Booking['cancellation_policy']): Tier[] {
  const sorted = [...policy].sort((a, b) => b.notice_hours - a.notice_hours);
  return sorted.map(({ notice_hours, refund_percent }, index) => ({
    notice: noticeOf(notice_hours, index === 0),
    refundPercent: refund_percent,
  }));
}

function noticeOf(hours: number, isFirst: boolean): Notice {
  if (hours === 0) return { unit: isFirst ? 'anytime' : 'later' };
  const isDays = hours % HOURS_PER_DAY === 0 && hours > HOURS_PER_DAY;
  return isDays ? { unit: 'days', count: hours / HOURS_PER_DAY } : { unit: 'hours', count: hours };
}

/** What is still to come for a leg: its start, or once that is past, its end. */
export function nextOfLeg(
  timers: readonly PanelTimer[],
  legId: string,
  nowMs: number,
): PanelTimer | null {
  const own = timers.filter(({ leg_id, card_id }) => leg_id === legId && card_id === null);
  return own.find(({ at }) => Date.parse(at) > nowMs) ?? null;
}

export interface DocumentGroup {
  /** Null for those of the whole booking. */
  legId: string | null;
  documents: DocumentRow[];
}

/** Documents of the whole booking first, then leg by leg, in the booking's order. */
export function documentsByLeg(
  documents: readonly DocumentRow[],
  legIds: readonly string[],
): DocumentGroup[] {
  const known = [null, ...legIds];
  const others = documents.map((each) => each.leg_id).filter((id) => !known.includes(id));
  const ids = [...new Set([...known, ...others])];
  return ids
    .map((legId) => ({ legId, documents: documents.filter((each) => each.leg_id === legId) }))
    .filter((group) => group.documents.length > 0);
}

export function mustSign({ signers, state }: DocumentRow, userId: string): boolean {
  const isWaiting = state === 'pending' || state === 'partly_signed';
  return isWaiting && signers.some((each) => each.user_id === userId && each.state === 'pending');
}

export function shortHash(hash: string): string {
  return `${hash.slice(0, HASH_START)}…${hash.slice(-HASH_END)}`;
}

export interface Item {
  title: string;
  count: number;
  amountCents: number;
}

/** Lines of an amendment. Their form is the card's own, so each field is looked at. */
export function itemsOf(items: LegExpenses['amendments'][number]['items']): Item[] {
  return items.flatMap((item) => {
    const { title, qty, amount_cents } = item;
    if (typeof title !== 'string' || typeof amount_cents !== 'number') return [];
    return [{ title, count: typeof qty === 'number' ? qty : 1, amountCents: amount_cents }];
  });
}
