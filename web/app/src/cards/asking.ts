/** What is said before something is done that cannot be taken back. Pure. */

import type { Card, CardAction } from '@greenroom/sdk';

import type { Format } from '../i18n/format.ts';
import type { Words } from '../i18n/index.ts';
import { actionLabel, movingOf, type Types } from './catalogue.ts';
import { money, totalOf } from './sums.ts';

export interface Asking {
  card: Card;
  action: CardAction;
  types: Types;
  words: Words['cards'];
  format: Format;
  userId: string;
  /** The name of the one who pays, or gets money back. */
  buyer: string;
}

/** Where the catalogue is not known, whatever has a sum may move it. */
export function isAskedFirst({ card, action, types }: Asking): boolean {
  if (action.style === 'danger' || movingOf(card, action, types) !== null) return true;
  return !types.english.has(card.type) && totalOf(card) !== null;
}

/** On the button that does it: money is asked for with its sum. */
export function sureLabel({ card, action, types, words, format, userId }: Asking): string {
  const cents = totalOf(card);
  const moving = movingOf(card, action, types);
  const label = actionLabel(card, action, types);
  if (cents === null) return label;
  const sum = money({ card, format }, cents);
  if (moving === 'charge' && card.buyer === userId) return words.pay(sum);
  return moving === 'refund' ? words.refund(sum) : label;
}

export function consequence({ card, action, types, words, format, userId, buyer }: Asking): string {
  const sumOf = (cents: number): string => money({ card, format }, cents);
  const quote = card.totals['quote'] as { refund_cents?: number } | undefined;
  const cents = totalOf(card);
  const moving = movingOf(card, action, types);
  if (moving === 'cancel' && quote) return words.cancelHint(sumOf(quote.refund_cents ?? 0));
  if (cents === null || moving === null) return '';
  if (moving === 'refund') return words.refundHint(buyer, sumOf(cents));
  return card.buyer === userId ? words.payHint(sumOf(cents)) : words.otherPays(buyer, sumOf(cents));
}
