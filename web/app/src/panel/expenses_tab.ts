/** The money of the booking, as the ledger has it: sums, what was added, and every receipt. */

import type { Expenses, LegExpenses, Money, StoredFile, Sums } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';

import { sumsToShow } from '../cards/booking_sums.ts';
import { loadGallery } from '../session/later.ts';
import { itemsOf, receiptsToShow } from './facts.ts';
import { chip, type Drawn, showButton, type Tone, type View } from './view.ts';

type Amendment = LegExpenses['amendments'][number];
type Refund = LegExpenses['refunds'][number];
type Receipt = LegExpenses['receipts'][number];

const AMENDMENT_TONES: Record<Amendment['state'], Tone> = {
  pending: 'notice',
  paid: 'good',
  failed: 'bad',
  void: 'plain',
  booked: 'good',
};
const REFUND_TONES: Record<Refund['state'], Tone> = {
  queued: 'notice',
  refunded: 'good',
  failed: 'bad',
};

export function expensesTab(view: View, tab: Expenses): TemplateResult {
  const [first, ...others] = tab.legs;
  const isOne = first !== undefined && others.length === 0;
  const caption = isOne ? first.title : view.words.wholeBooking;
  return html`${tab.sums ? sumTable(view, caption, tab.sums) : nothing}
  ${tab.legs.map((leg) => legMoney(view, leg, isOne))}`;
}

function sumTable(view: View, caption: string, sums: Sums): TemplateResult {
  const { words, format } = view;
  return html`<table class="sums box">
    <caption>
      ${caption}
    </caption>
    <tbody>
      ${sumsToShow(sums).map(
        (name) =>
          html`<tr class=${name}>
            <th scope="row">${words.sum[name]}</th>
            <td class="number">${format.money(sums[name])}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** With a single leg the sums above are already its own. */
function legMoney(view: View, leg: LegExpenses, isOne: boolean): TemplateResult {
  const { words } = view;
  const payout = words.payout[leg.payout];
  return html`${isOne ? nothing : sumTable(view, leg.title, leg.sums)}
  ${payout ? html`<p class="small quiet">${payout}</p>` : nothing} ${deposit(view, leg)}
  ${parts(view, leg)} ${rows(words.refunds, leg.refunds, (each) => refund(view, each))}
  ${leg.receipts.length === 0 ? html`<p class="quiet">${words.noReceipts}</p>` : nothing}
  ${rows(words.receipts, receiptsToShow(leg.receipts), (each) => receipt(view, each))}`;
}

/** What the price is made of, with what was asked for and did not come to be part of it. */
function parts(view: View, leg: LegExpenses): Drawn {
  const { words } = view;
  return html`<section>
    <h3>${words.parts}</h3>
    <ul class="rows">
      <li>${line(view, words.price, leg.price)}</li>
      ${leg.amendments.map((each) => html`<li>${amendment(view, each)}</li>`)}
    </ul>
  </section>`;
}

function rows<T>(heading: string, items: readonly T[], draw: (item: T) => TemplateResult): Drawn {
  if (items.length === 0) return nothing;
  return html`<section>
    <h3>${heading}</h3>
    <ul class="rows">
      ${items.map((item) => html`<li>${draw(item)}</li>`)}
    </ul>
  </section>`;
}

/** One that is held as it was agreed stands among the sums. */
function deposit(view: View, { deposit: held, sums }: LegExpenses): Drawn {
  if (!held) return nothing;
  const { words, format } = view;
  const isUsed = held.captured.amount_cents > 0;
  if (!isUsed && sums.held.amount_cents === held.amount.amount_cents) return nothing;
  const said = isUsed
    ? words.depositUsed(format.money(held.captured))
    : words.depositState[held.state];
  return rows(words.deposit, [held], () => line(view, said, held.amount));
}

function amendment(view: View, each: Amendment): TemplateResult {
  const { words, format } = view;
  const items = itemsOf(each.items);
  const money = (amount_cents: number): string =>
    format.money({ amount_cents, currency: each.amount.currency });
  const state = chip(words.amendmentState[each.state], AMENDMENT_TONES[each.state]);
  const title = each.kind === 'expense' ? each.title : words.amendmentKind[each.kind];
  return html`${line(view, title, each.amount, state)}
  ${
    items.length === 0
      ? nothing
      : html`<ul class="items">
          ${items.map(
            (item) =>
              html`<li>
                <span>${format.number(item.count)} × ${item.title}</span>
                <span class="number">${money(item.amountCents)}</span>
              </li>`,
          )}
        </ul>`
  }
  ${each.receipt ? receiptFile(each.receipt) : nothing}
  ${below(view, title, each.created_at, each.card_id)}`;
}

/** What shows it comes with the first of them. */
function receiptFile(file: StoredFile): TemplateResult {
  loadGallery().catch(() => {});
  return html`<greenroom-file-row
    .file=${file}
    .name=${file.name}
    .mime=${file.mime}
  ></greenroom-file-row>`;
}

function refund(view: View, each: Refund): TemplateResult {
  const { words } = view;
  const state = chip(words.refundState[each.state], REFUND_TONES[each.state]);
  const kind = each.is_undo ? words.undone : words.receipt.refund;
  return html`${line(view, kind, each.amount, state)}
  ${below(view, kind, each.created_at, each.card_id)}`;
}

function receipt(view: View, each: Receipt): TemplateResult {
  const kind = each.is_undo ? view.words.undone : view.words.receipt[each.kind];
  return html`${line(view, kind, each.amount)} ${below(view, kind, each.at, each.card_id)}
  ${
    each.provider_id
      ? html`<p class="tiny quiet"><bdi>${view.words.receiptNumber(each.provider_id)}</bdi></p>`
      : nothing
  }`;
}

function line(view: View, title: string, amount: Money, state: Drawn = nothing): TemplateResult {
  return html`<div class="line">
    <span>${title} ${state}</span><span class="number">${view.format.money(amount)}</span>
  </div>`;
}

function below(view: View, title: string, at: string, cardId: string | null): TemplateResult {
  return html`<div class="below">
    <time datetime=${at} title=${view.format.full(at)}>${view.format.date(at)}</time>
    ${cardId ? showButton(view, title, () => view.showCard(cardId)) : nothing}
  </div>`;
}
