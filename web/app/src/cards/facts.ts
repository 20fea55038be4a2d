/** What a card says, drawn from its payload and the server's totals: known shapes, and any other. */

import type { Card, CardType } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';

import type { Format } from '../i18n/format.ts';
import type { Words } from '../i18n/index.ts';
import { whenOf, whenText } from '../i18n/when.ts';
import { icon } from '../look/icons.ts';
import { stopwatch } from './booking_timers.ts';
import type { Point } from './geography.ts';
import { humanised, isMoney } from './naming.ts';
import type { Schema } from './schema.ts';
import { money, totalOf } from './sums.ts';

export interface Drawing {
  card: Card;
  type: CardType | undefined;
  words: Words['cards'];
  format: Format;
  nowMs: number;
  userId: string;
  /** Where the document of the card can be read. */
  documentUrl: string | null;
  name(userId: string): string;
}

type Drawn = TemplateResult | typeof nothing;
type Values = Record<string, unknown>;

interface Range {
  start: string;
  end: string;
}

/** Drawn in their own way, or by the card around. */
const KNOWN_TOTALS = new Set([
  'in_flight_cents',
  'returned_cents',
  'payout',
  ...['currency', 'total_cents', 'amount_cents', 'items', 'quote', 'old_range', 'latest_start'],
  ...['option', 'round', 'started_at', 'stopped_at', 'from_deposit_cents', 'failure_code'],
  ...['confirmation', 'title', 'sha256', 'signers', 'files', 'selections', 'file_notes'],
]);
const REFERENCES = new Set([
  ...['leg_id', 'document_id', 'manifest_id', 'receipt_file_id'],
  ...['gallery', 'allow_selections', 'max_selections', 'watermark', 'expires_at'],
]);
/** What people wrote stands as they wrote it; these need no heading. */
const PLAIN_SAYINGS = new Set(['note', 'reason', 'description']);
const SAYING_CHARACTERS = 200;

export function drawFacts(drawing: Drawing): Drawn[] {
  const { card } = drawing;
  const drawn = new Set<string>(REFERENCES);
  const take = (...names: string[]): void => names.forEach((name) => drawn.add(name));
  const parts: Drawn[] = [];
  const { payload, totals } = card;
  if (isRange(payload)) {
    parts.push(drawTime(drawing, payload, payload['timezone']));
    take('start', 'end', 'timezone');
  }
  if (isRangeList(payload['options'])) {
    parts.push(drawOptions(drawing, payload['options']));
    take('options');
  }
  const items = totals['items'] ?? payload['items'];
  if (isPriced(items)) {
    parts.push(drawItems(drawing, items));
    take('items');
  } else if (totalOf(card) !== null) {
    parts.push(html`<p class="main">${money(drawing, totalOf(card) ?? 0)}</p>`);
    take('amount_cents');
  }
  if (placeOf(payload)) take('lat', 'lon', 'place');
  if (payload['document_id']) parts.push(drawDocument(drawing));
  if (totals['started_at'] && !totals['stopped_at']) {
    parts.push(drawStopwatch(drawing, totals['started_at'] as string));
  }
  if (drawing.type?.erases_payload && Object.keys(payload).length === 0) {
    parts.push(html`<p class="quiet small">${drawing.words.erased}</p>`);
  }
  return [...parts, ...drawRest(drawing, drawn)].filter((part) => part !== nothing);
}

export function nameOfProperty(words: Words['cards'], name: string, schema?: Schema): string {
  return schema?.title ?? words.names[name] ?? humanised(name);
}

/** What the buyer pays is told to the buyer as theirs. */
export function nameFor(
  { words, card, userId }: Pick<Drawing, 'words' | 'card' | 'userId'>,
  name: string,
  schema?: Schema,
): string {
  const isYours = name === 'buyer_payable' && card.buyer === userId;
  return isYours ? words.youPay : nameOfProperty(words, name, schema);
}

function drawRest(drawing: Drawing, drawn: ReadonlySet<string>): Drawn[] {
  const { card, type, words } = drawing;
  const schemas = (type?.payload as Schema | undefined)?.properties ?? {};
  const rest = Object.entries(card.payload).filter(
    ([name]) => !drawn.has(name) && !schemas[name]?.['x-hidden'],
  );
  const isSaying = (name: string, value: unknown): boolean =>
    typeof value === 'string' &&
    (PLAIN_SAYINGS.has(name) || (schemas[name]?.maxLength ?? 0) > SAYING_CHARACTERS);
  const rows = rest.filter(([name, value]) => !isSaying(name, value));
  const more = Object.entries(card.totals).filter(
    ([name, value]) => !KNOWN_TOTALS.has(name) && !(name in card.payload) && !isLong(name, value),
  );
  const sayings = rest.filter(([name, value]) => isSaying(name, value));
  const answers = Object.entries(card.totals).filter(([name, value]) => isLong(name, value));
  return [
    drawRows(drawing, [...rows, ...more], schemas),
    ...sayings.map(([name, text]) =>
      drawSaying(PLAIN_SAYINGS.has(name) ? null : nameOfProperty(words, name, schemas[name]), text),
    ),
    ...answers.map(([name, text]) => drawSaying(nameOfProperty(words, name), text)),
    drawQuote(drawing),
    drawEnd(drawing),
  ];
}

/** Words of people among the totals: why something is disputed, what should change. */
function isLong(name: string, value: unknown): boolean {
  return typeof value === 'string' && (name === 'reason' || name.endsWith('notes'));
}

function drawSaying(label: string | null, text: unknown): TemplateResult {
  return html`<div>
    ${label ? html`<p class="quiet small">${label}</p>` : nothing}
    <p class="says" dir="auto">${text}</p>
  </div>`;
}

function drawRows(
  drawing: Drawing,
  rows: [string, unknown][],
  schemas: Record<string, Schema>,
): Drawn {
  if (rows.length === 0) return nothing;
  return html`<dl class="rows">
    ${rows.map(
      ([name, value]) =>
        html`<dt>${nameFor(drawing, name, schemas[name])}</dt>
          <dd>${drawValue(drawing, name, value, schemas[name] ?? {})}</dd>`,
    )}
  </dl>`;
}

function drawValue(drawing: Drawing, name: string, value: unknown, schema: Schema): unknown {
  const { words, format } = drawing;
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (typeof value === 'number') {
    if (isMoney(name)) return money(drawing, value);
    return name.endsWith('minutes') ? words.minutes(format.number(value)) : format.number(value);
  }
  if (typeof value === 'string') return drawText(drawing, value, schema);
  if (Array.isArray(value)) {
    const items = schema.items ?? {};
    return html`<ul>
      ${value.map((each) => html`<li>${drawValue(drawing, name, each, items)}</li>`)}
    </ul>`;
  }
  if (typeof value !== 'object' || value === null) return '';
  return drawRows(drawing, Object.entries(value), schema.properties ?? {});
}

function drawText({ format }: Drawing, value: string, schema: Schema): unknown {
  const isMoment = schema.format === 'date-time' && !Number.isNaN(Date.parse(value));
  if (isMoment) return html`<time datetime=${value}>${format.range(value, value)}</time>`;
  if (schema.format === 'date' && !Number.isNaN(Date.parse(value))) {
    const options = { dateStyle: 'medium', timeZone: 'UTC' } as const;
    const day = new Intl.DateTimeFormat(format.locale, options).format(new Date(value));
    return html`<time datetime=${value}>${day}</time>`;
  }
  return schema.enum ? humanised(value) : html`<bdi>${value}</bdi>`;
}

export function drawTime({ words, format }: Drawing, range: Range, zone: unknown): TemplateResult {
  const { event, zone: place, yours } = whenOf(format, range.start, range.end, zone);
  return html`<div>
    <p class="main"><time datetime=${range.start}>${event}</time></p>
    ${
      place && yours
        ? html`<p class="quiet small">${words.inZone(place)} · ${words.yourTime(yours)}</p>`
        : nothing
    }
  </div>`;
}

function drawOptions(drawing: Drawing, options: Range[]): TemplateResult {
  const { words, card, format } = drawing;
  const old = card.totals['old_range'] as (Range & Values) | undefined;
  const zone = old?.['timezone'];
  return html`${
      old && isRange(old)
        ? html`<p class="quiet small">
            ${words.oldTime}:
            <span class=${card.totals['option'] === undefined ? '' : 'struck'}
              >${whenText(words, whenOf(format, old.start, old.end, zone))}</span
            >
          </p>`
        : nothing
    }
    <ol class="lines" aria-label=${words.options}>
      ${options.map((option, index) => {
        const isChosen = card.totals['option'] === index;
        return html`<li>
          ${drawTime(drawing, option, zone)}
          ${isChosen ? html`<span class="chip good">${icon('check')}${words.chosen}</span>` : nothing}
        </li>`;
      })}
    </ol>`;
}

function drawItems(drawing: Drawing, items: Values[]): TemplateResult {
  const { words, format, card } = drawing;
  const total = totalOf(card);
  return html`<ul class="lines">
      ${items.map((item) => {
        const unit = Number(item['unit_cents']);
        const qty = Number(item['qty'] ?? 1);
        const amount = Number(item['amount_cents'] ?? unit * qty);
        return html`<li>
          <span>
            <bdi>${item['title'] ?? item['kind'] ?? ''}</bdi>
            ${
              qty === 1
                ? nothing
                : html`<span class="quiet small"
                    >${words.itemLine(format.number(qty), money(drawing, unit))}</span
                  >`
            }
          </span>
          <span class="sum">${money(drawing, amount)}</span>
        </li>`;
      })}
    </ul>
    ${
      total === null
        ? nothing
        : html`<p class="total">
            <span>${words.total}</span><span class="sum">${money(drawing, total)}</span>
          </p>`
    }`;
}

export function drawLink(
  words: Words['cards'],
  href: string,
  text: string,
  name: Parameters<typeof icon>[0],
): TemplateResult {
  return html`<a class="linked" href=${href} target="_blank" rel="noopener noreferrer"
    >${icon(name)}<span>${text}<span class="visually-hidden"> (${words.newTab})</span></span></a
  >`;
}

function drawDocument(drawing: Drawing): TemplateResult {
  const { card, words, documentUrl } = drawing;
  const { title, sha256 } = card.totals;
  const signers = (card.signers ?? []) as { user_id: string; state: string }[];
  return html`<p class="main"><bdi>${title ?? card.payload['document_id']}</bdi></p>
    ${documentUrl ? drawLink(words, documentUrl, words.openDocument, 'document') : nothing}
    ${
      signers.length === 0
        ? nothing
        : html`<ul class="lines" aria-label=${words.signers}>
            ${signers.map(
              ({ user_id, state }) =>
                html`<li>
                  <span>${drawing.name(user_id)}</span>
                  <span
                    class="chip ${state === 'signed' ? 'good' : state === 'declined' ? 'bad' : ''}"
                    >${icon(state === 'signed' ? 'check' : state === 'declined' ? 'close' : 'clock')}
                    ${words.signerStates[state] ?? state}</span
                  >
                </li>`,
            )}
          </ul>`
    }
    ${typeof sha256 === 'string' ? drawHash(words, sha256) : nothing}`;
}

/** Enough of it to compare at a glance; the whole for whoever points at it or reads by ear. */
export function drawHash(words: Words['cards'], sha256: string): TemplateResult {
  return html`<p class="quiet small" title=${sha256}>
    ${words.fingerprint}
    <bdi class="hash">${sha256.slice(0, 8)}…${sha256.slice(-8)}</bdi>
  </p>`;
}

function drawStopwatch({ words, format, nowMs }: Drawing, since: string): TemplateResult {
  return html`<div class="box">
    <p class="watch" role="timer" aria-live="off">
      <bdi>${stopwatch(Date.parse(since), nowMs)}</bdi>
    </p>
    <p class="quiet small">${words.runningSince(format.time(since))}</p>
  </div>`;
}

function drawQuote(drawing: Drawing): Drawn {
  const { words, card } = drawing;
  const quote = card.totals['quote'] as Values | undefined;
  const isDone = card.state === 'accepted';
  // Of a request that came to nothing it does not matter any more.
  if (!quote || (!isDone && card.waits_for.length === 0)) return nothing;
  const sum = money(drawing, Number(quote['refund_cents']));
  const heldCents = Number(quote['deposit_cents'] ?? 0);
  const held = money(drawing, heldCents);
  const line = isDone ? words.quoteDone : words.quoteLine;
  return html`<div class="box">
    <p class="quiet small">${isDone ? words.cancelled : words.quote}</p>
    <p>${line(sum, Number(quote['refund_percent']))}</p>
    ${heldCents > 0 ? html`<p>${isDone ? words.depositDone(held) : words.depositBack(held)}</p>` : nothing}
    <p class="quiet small">
      ${
        card.created_by === card.seller
          ? words.quoteBySeller
          : words.quoteNotice(Number(quote['notice_hours']))
      }
    </p>
  </div>`;
}

function drawEnd(drawing: Drawing): Drawn {
  const { words, card } = drawing;
  const { failure_code: failure, from_deposit_cents: captured } = card.totals;
  const { in_flight_cents: inFlight, returned_cents: returned, payout } = card.totals;
  const lines = [
    typeof captured === 'number' ? words.fromDeposit(money(drawing, captured)) : '',
    typeof inFlight === 'number' ? words.inFlight(money(drawing, inFlight)) : '',
    typeof returned === 'number' ? words.returned(money(drawing, returned)) : '',
    typeof payout === 'string' ? (words.payouts[payout] ?? '') : '',
  ].filter((line) => line !== '');
  if (lines.length === 0 && typeof failure !== 'string') return nothing;
  return html`${lines.map((line) => html`<p class="quiet small">${line}</p>`)}
  ${typeof failure === 'string' ? html`<p class="problem">${words.failures[failure] ?? words.failure(failure)}</p>` : nothing}`;
}

function isRange(value: unknown): value is Range & Values {
  const { start, end } = (value ?? {}) as Values;
  const isMoment = (each: unknown): boolean =>
    typeof each === 'string' && !Number.isNaN(Date.parse(each));
  return isMoment(start) && isMoment(end);
}

function isRangeList(value: unknown): value is Range[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRange);
}

/** Null for a card that shares no place. */
export function placeOf({ lat, lon }: Values): Point | null {
  return typeof lat === 'number' && typeof lon === 'number' ? { lat, lon } : null;
}

function isPriced(value: unknown): value is Values[] {
  const hasPrice = (each: unknown): boolean =>
    typeof (each as Values | null)?.['unit_cents'] === 'number';
  return Array.isArray(value) && value.length > 0 && value.every(hasPrice);
}
