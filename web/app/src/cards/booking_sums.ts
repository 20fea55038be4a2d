/** Which sums of a booking are shown. The server computes them. Pure. */

import type { Sums } from '@greenroom/sdk';

export type SumName = keyof Sums;

/** In this order: what adds up to what is agreed, what does not, and where the money is. */
const ALL: readonly SumName[] = [
  'agreed',
  'paid',
  'pending',
  'open',
  'failed',
  'refunded',
  'kept',
  'paid_out',
  'held',
];
const ALWAYS: ReadonlySet<SumName> = new Set(['agreed', 'paid']);
const WHERE_IT_IS: ReadonlySet<SumName> = new Set(['kept', 'paid_out']);

/** The sums that say something: zero is told only of what is agreed and of what is paid. */
export function sumsToShow(sums: Sums): SumName[] {
  return ALL.filter((name) => ALWAYS.has(name) || sums[name].amount_cents !== 0);
}

/** In few words: what is paid in full need not be told as agreed, nor where it lies. */
export function sumsInShort(sums: Sums): SumName[] {
  const isPaid = sums.agreed.amount_cents === sums.paid.amount_cents;
  const isNothing = sums.agreed.amount_cents === 0 && sums.paid.amount_cents === 0;
  return sumsToShow(sums).filter((name) => {
    if (WHERE_IT_IS.has(name)) return false;
    if (name === 'agreed') return !isPaid || isNothing;
    return name !== 'paid' || sums.paid.amount_cents !== 0;
  });
}
