/** What a cancellation would cost, to be seen before it is asked for. Pure. */

import type { Expenses, LegExpenses, Money, Panel } from '@greenroom/sdk';

export interface CancelQuote {
  refund: Money;
  /** What stays with the seller. */
  kept: Money;
  /** What is held as a deposit and given back whoever cancels. */
  deposit: Money;
  percent: number;
  noticeHours: number;
  /** Whether the reader is the one who gets it back. */
  isBuyer: boolean;
}

/** By leg, as the server would quote it now. A seller who cancels gives everything back. */
export function cancelQuotes(
  { booking }: Panel,
  { legs: accounts }: Expenses,
  userId: string,
): Record<string, CancelQuote> {
  const isBuyer = booking?.buyer === userId;
  const quotes: Record<string, CancelQuote> = {};
  for (const { id, state, cancellation_quote: quote } of booking?.legs ?? []) {
    const account = accounts.find(({ leg_id }) => leg_id === id);
    if (!account || !quote || (state !== 'confirmed' && state !== 'in_progress')) continue;
    const { currency } = quote.refund;
    const held = heldOf(account);
    const cents = isBuyer
      ? quote.refund.amount_cents
      : Math.min(held, account.sums.paid.amount_cents);
    quotes[id] = {
      refund: { amount_cents: cents, currency },
      kept: { amount_cents: Math.max(0, held - cents), currency },
      deposit: account.sums.held,
      percent: isBuyer ? quote.refund_percent : 100,
      noticeHours: isBuyer ? quote.notice_hours : 0,
      isBuyer,
    };
  }
  return quotes;
}

/** What is on its way back is no longer there to be given back. */
function heldOf({ sums, refunds }: LegExpenses): number {
  const leaving = refunds.filter(({ state }) => state === 'queued');
  const cents = leaving.reduce((sum, { amount }) => sum + amount.amount_cents, 0);
  return Math.max(0, sums.kept.amount_cents - cents);
}
