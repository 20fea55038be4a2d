/** The facts of the booking: who, when, for how much, and how it may be cancelled. */

import type { Booking, Leg, Panel, PanelTimer } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';

import { sumsInShort, sumsToShow } from '../cards/booking_sums.ts';
import '../cards/confirm_payment.ts';
import { untilOf, whenOf } from '../i18n/when.ts';
import { icon } from '../look/icons.ts';
import { nextOfLeg, type Notice, type Tier, tiersOf } from './facts.ts';
import { avatar, chip, type Drawn, personName, type Tone, type View } from './view.ts';

const TONES: Record<Leg['state'], Tone> = {
  proposed: 'notice',
  confirmed: 'good',
  in_progress: 'good',
  completed: 'plain',
  cancelled: 'bad',
  disputed: 'bad',
};
const IN_CALENDAR: ReadonlySet<Leg['state']> = new Set(['confirmed', 'in_progress', 'completed']);

export function bookingTab(view: View, panel: Panel, booking: Booking): TemplateResult {
  const facts = (leg: Leg): TemplateResult => legFacts(view, panel, booking, leg);
  return html`${confirmation(view, booking)}${total(view, booking)}
    <ul class="legs">
      ${booking.legs.map((leg) => html`<li class="box">${facts(leg)}</li>`)}
    </ul>
    ${policy(view, booking)} ${earlier(view, panel.earlier)}`;
}

/** The buyer's bank wants to be asked before the booking is confirmed. */
function confirmation(view: View, booking: Booking): Drawn {
  if (!booking.confirmation) return nothing;
  return html`<greenroom-confirm-payment
    .paymentId=${booking.confirmation}
    ?own=${booking.buyer === view.userId}
  ></greenroom-confirm-payment>`;
}

/** One leg says it all by itself. */
function total(view: View, booking: Booking): Drawn {
  if (booking.legs.length < 2) return nothing;
  const tone = booking.state === 'cancelled' ? 'bad' : 'good';
  return html`<section class="box whole">
    <div class="total">
      <span>${view.words.wholeBooking}</span>
      ${chip(view.words.bookingState[booking.state], booking.state === 'proposed' ? 'notice' : tone)}
    </div>
    <dl class="facts">${sums(view, booking.sums)}</dl>
  </section>`;
}

function legFacts(view: View, panel: Panel, booking: Booking, leg: Leg): TemplateResult {
  const { words, format } = view;
  const isHere = booking.legs.length > 1 && panel.leg_id === leg.id;
  return html`<div class="head">
      <h3>${leg.title}</h3>
      ${chip(words.legState[leg.state], TONES[leg.state])}
    </div>
    ${isHere ? html`<p class="small quiet">${words.thisConversation}</p>` : nothing}
    ${countdown(view, nextOfLeg(panel.timers, leg.id, view.nowMs))}
    <dl class="facts">
      <dt>${words.seller}</dt>
      <dd class="person">${avatar(view, leg.seller)}${personName(view, leg.seller)}</dd>
      <dt>${words.when}</dt>
      <dd>${times(view, leg)}</dd>
      <dt>${words.price}</dt>
      <dd class="number">${format.money(leg.price)}</dd>
      ${sums(view, leg.sums, leg.deposit !== null)} ${deposit(view, leg)}
    </dl>
    ${accepted(view, leg.deliverables_accepted_at)} ${quote(view, booking, leg)}
    ${calendar(view, leg)}`;
}

/** In the words of the expenses. */
/** A deposit that has a row of its own is not told twice. */
function sums({ words, format }: View, of: Booking['sums'], hasDeposit = false): TemplateResult[] {
  const shown = sumsToShow(of).filter((name) => name !== 'held' || !hasDeposit);
  return shown.map(
    (name) =>
      html`<dt>${words.sum[name]}</dt>
        <dd class="number">${format.money(of[name])}</dd>`,
  );
}

function accepted({ words, format }: View, at: string | null): Drawn {
  return at ? html`<p class="small quiet">${words.accepted(format.date(at))}</p>` : nothing;
}

function countdown(view: View, timer: PanelTimer | null): Drawn {
  if (!timer) return nothing;
  const text = view.words.timer[timer.kind](untilOf(view.format, timer.at, view.nowMs));
  return html`<p class="countdown">
    ${icon('clock')}<time datetime=${timer.at} title=${view.format.full(timer.at)}>${text}</time>
  </p>`;
}

function times({ format, words }: View, { start, end, timezone }: Leg): TemplateResult {
  const { event, zone, yours } = whenOf(format, start, end, timezone);
  return html`<span>${event}</span>${
      zone && yours
        ? html`<span class="small quiet">${words.inZone(zone)} · ${words.yourTime(yours)}</span>`
        : nothing
    }`;
}

function deposit(view: View, leg: Leg): Drawn {
  if (!leg.deposit) return nothing;
  const { words, format } = view;
  const { amount, captured, state } = leg.deposit;
  const said =
    captured.amount_cents > 0
      ? words.depositUsed(format.money(captured))
      : words.depositState[state];
  return html`<dt>${words.deposit}</dt>
    <dd>
      <span class="number">${format.money(amount)}</span><span class="small quiet">${said}</span>
    </dd>`;
}

function quote(view: View, booking: Booking, leg: Leg): Drawn {
  const { cancellation_quote, state } = leg;
  const { held } = leg.sums;
  if (!cancellation_quote || state === 'proposed') return nothing;
  const amount = view.format.money(cancellation_quote.refund);
  const { quoteYours, quoteTheirs } = view.words;
  const text = booking.buyer === view.userId ? quoteYours(amount) : quoteTheirs(amount);
  const deposit = held.amount_cents > 0 ? view.words.depositBack(view.format.money(held)) : '';
  return html`<p class="small quiet">${text} ${deposit}</p>`;
}

function calendar(view: View, leg: Leg): Drawn {
  if (!IN_CALENDAR.has(leg.state)) return nothing;
  return html`<button
    class="button"
    aria-label=${view.words.calendarOf(leg.title)}
    @click=${() => view.saveCalendar(leg)}
  >
    ${icon('calendar')}${view.words.calendar}
  </button>`;
}

function policy(view: View, booking: Booking): Drawn {
  const tiers = tiersOf(booking.cancellation_policy);
  if (tiers.length === 0) return nothing;
  return html`<section>
    <h3>${view.words.cancellation}</h3>
    <dl class="tiers">
      ${tiers.map(
        (tier) =>
          html`<div>
            <dt>${noticeWords(view, tier.notice)}</dt>
            <dd>${refundWords(view, tier)}</dd>
          </div>`,
      )}
    </dl>
  </section>`;
}

function noticeWords({ words: { tier } }: View, notice: Notice): string {
  switch (notice.unit) {
    case 'days':
      return tier.daysBefore(notice.count);
    case 'hours':
      return tier.hoursBefore(notice.count);
    default:
      return tier[notice.unit];
  }
}

function refundWords({ words, format }: View, { refundPercent }: Tier): string {
  if (refundPercent >= 100) return words.refund.all;
  if (refundPercent <= 0) return words.refund.nothing;
  return words.refund.part(format.percent(refundPercent));
}

/** Quietly: what was booked here before, and what became of its money. */
function earlier(view: View, bookings: readonly Booking[]): Drawn {
  if (bookings.length === 0) return nothing;
  return html`<section class="earlier">
    <h3>${view.words.earlier}</h3>
    <ul class="rows">
      ${bookings.flatMap((booking) =>
        booking.legs.map((leg) => html`<li>${earlierLeg(view, leg)}</li>`),
      )}
    </ul>
  </section>`;
}

function earlierLeg(view: View, leg: Leg): TemplateResult {
  const { words, format } = view;
  const money = sumsInShort(leg.sums).map(
    (name) => html`<span>${words.sum[name]} ${format.money(leg.sums[name])}</span>`,
  );
  return html`<div class="line">
      <span>${leg.title} ${chip(words.legState[leg.state], TONES[leg.state])}</span>
    </div>
    <div class="below">
      <time datetime=${leg.start}>${format.date(leg.start)}</time>
      ${money}
    </div>`;
}
