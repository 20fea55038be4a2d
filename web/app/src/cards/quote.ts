/** What a cancellation gives back and what it leaves, above the button that asks for it. */

import { html, nothing, type TemplateResult } from 'lit';

import type { Format } from '../i18n/format.ts';
import type { Words } from '../i18n/index.ts';
import type { CancelQuote } from './cancelling.ts';

export function drawQuote(
  words: Words['cards'],
  format: Format,
  { refund, kept, deposit, percent, noticeHours, isBuyer }: CancelQuote,
): TemplateResult {
  const sum = format.money(refund);
  return html`<div class="box" id="quote">
    <p class="quiet small">${words.quote}</p>
    <p>${isBuyer ? words.quoteYours(sum, percent) : words.quoteLine(sum, percent)}</p>
    ${kept.amount_cents > 0 ? html`<p>${words.quoteKept(format.money(kept))}</p>` : nothing}
    ${deposit.amount_cents > 0 ? html`<p>${words.depositBack(format.money(deposit))}</p>` : nothing}
    <p class="quiet small">${isBuyer ? words.quoteNotice(noticeHours) : words.quoteBySeller}</p>
  </div>`;
}
