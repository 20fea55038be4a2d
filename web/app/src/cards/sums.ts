/** The total and the currency of a card, as the server computed them. Pure. */

import type { Card } from '@greenroom/sdk';

import type { Format } from '../i18n/format.ts';

export function totalOf({ totals }: Card): number | null {
  const total = totals['total_cents'] ?? totals['amount_cents'];
  return typeof total === 'number' ? total : null;
}

export function currencyOf({ totals }: Card): string | null {
  return typeof totals['currency'] === 'string' ? totals['currency'] : null;
}

/** Cents of a card, with its currency where it names one. */
export function money({ card, format }: { card: Card; format: Format }, cents: number): string {
  const currency = currencyOf(card);
  if (currency) return format.money({ amount_cents: cents, currency });
  const plain = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return new Intl.NumberFormat(format.locale, plain).format(cents / 100);
}
