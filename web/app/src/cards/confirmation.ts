/** Which actions ask for a confirmation first, and the texts of that question. Pure. */

import type { Card, CardAction, Leg } from '@greenroom/sdk';

import type { Format } from '../i18n/format.ts';
import type { Words } from '../i18n/index.ts';
import { actionLabel, movingOf, type Types } from './catalogue.ts';
import { money, totalOf } from './sums.ts';

export interface Confirmation {
  card: Card;
  action: CardAction;
  types: Types;
  words: Words['cards'];
  format: Format;
  userId: string;
  /** The name of the one who pays, or gets money back. */
  buyer: string;
  seller: string;
  /** What the card is about, where that is known. */
  leg: Leg | null;
  nowMs: number;
}

/** Where the catalogue is not known, whatever has a sum may move it. */
export function needsConfirmation({ card, action, types }: Confirmation): boolean {
  if (action.style === 'danger' || movingOf(card, action, types) !== null) return true;
  return !types.english.has(card.type) && totalOf(card) !== null;
}

/** On the button that does it: money is asked for with its sum. */
export function confirmLabel({ card, action, types, words, format, userId }: Confirmation): string {
  const cents = totalOf(card);
  const moving = movingOf(card, action, types);
  const label = actionLabel(card, action, types);
  if (cents === null) return label;
  const sum = money({ card, format }, cents);
  if (moving === 'charge' && card.buyer === userId) return words.pay(sum);
  return moving === 'refund' ? words.refund(sum) : label;
}

export function consequence(asking: Confirmation): string {
  const { card, action, types, words, format, userId, buyer } = asking;
  const sumOf = (cents: number): string => money({ card, format }, cents);
  const quote = card.totals['quote'] as
    { refund_cents: number; deposit_cents?: number } | undefined;
  const cents = totalOf(card);
  const moving = movingOf(card, action, types);
  if (moving === 'cancel' && quote) {
    const { refund_cents, deposit_cents: held } = quote;
    return sentences(
      words.cancelHint(sumOf(refund_cents)),
      !!held && words.depositBack(sumOf(held)),
    );
  }
  if (moving === 'complete') return completion(asking);
  if (cents === null || moving === null) return '';
  if (moving === 'refund') return words.refundHint(buyer, sumOf(cents));
  return card.buyer === userId ? words.payHint(sumOf(cents)) : words.otherPays(buyer, sumOf(cents));
}

/** Accepted work is paid for at once: who accepts it early should know that it is early. */
function completion({ words, format, seller, leg, nowMs }: Confirmation): string {
  if (!leg) return words.paysOutAll(seller);
  const { kept, held } = leg.sums;
  return sentences(
    Date.parse(leg.end) > nowMs && words.notOver(format.weekdayDate(leg.end, nowMs)),
    words.paysOut(seller, format.money(kept)),
    held.amount_cents > 0 && words.depositBack(format.money(held)),
  );
}

function sentences(...all: (string | false)[]): string {
  return all.filter(Boolean).join(' ');
}
