/** What a form knows when it opens, besides its schema. Loaded with the first form. */

import type { Card, CardType, Docs, Panel } from '@greenroom/sdk';

import { loadFormWords } from '../i18n/forms.ts';
import { whenOf, whenText } from '../i18n/when.ts';
import type { Session } from '../session/session.ts';
import { cancelQuotes } from './cancelling.ts';
import { cancelsLeg } from './catalogue.ts';
import { documents, panels } from './loaders.ts';
import type { Choice, FormContext, Schema } from './schema.ts';
import { currencyOf } from './sums.ts';
import { isZone } from '../i18n/zones.ts';

/** What a form for a new card, or for an answer to one, can know. */
export async function formContext(
  session: Session,
  threadId: string,
  schema: Schema,
  { card = null, type = null }: { card?: Card | null; type?: CardType | null },
): Promise<FormContext> {
  const { format, locale, clock } = session;
  const names = Object.keys(schema.properties ?? {});
  const { rest } = session.client;
  const [panel, papers, expenses] = await Promise.all([
    card ? null : panels.get(session, threadId).catch(() => null),
    names.includes('document_id') ? documents.get(session, threadId).catch(() => null) : null,
    type && cancelsLeg(type) ? rest.panelTab(threadId, 'expenses').catch(() => null) : null,
  ]);
  const legs = panel ? legsOf(panel, session.userId) : [];
  const legId = panel?.leg_id ?? (legs.length === 1 ? (legs[0]?.value ?? null) : null);
  const leg = panel?.booking?.legs.find(({ id }) => id === legId) ?? panel?.booking?.legs[0];
  const zones = [card?.payload['timezone'], rangeZone(card), leg?.timezone, format.timeZone];
  return {
    words: await loadFormWords(locale),
    locale,
    timeZone: format.timeZone,
    zone: zones.find(isZone) ?? format.timeZone,
    nowMs: clock.now(),
    currency: (card && currencyOf(card)) ?? panel?.booking?.currency ?? null,
    legs,
    needsLeg: type?.needs_leg ?? false,
    legId: legs.some(({ value }) => value === legId) ? legId : null,
    booked: panel ? bookedOf(panel, session) : {},
    quotes: panel && expenses ? cancelQuotes(panel, expenses.data, session.userId) : {},
    documents: papers && askableOf(papers),
    options: optionsOf(card, session),
    fixed: fixedOf(card, names),
    pictures: card?.files ?? [],
    isMarked: card?.payload['watermark'] === true,
    canList: names.includes('manifest_id'),
    implied: ({ leg_id = legId ?? undefined }) => impliedOf(schema, panel, leg_id, clock.now()),
  };
}

/** Whoever says that work is done need not know how that is counted: what the booked time is over
 * for is done by time, anything before is a milestone. */
function impliedOf(
  schema: Schema,
  panel: Panel | null,
  legId: string | undefined,
  nowMs: number,
): Record<string, string> {
  const kind = schema.properties?.['kind'];
  if (!kind?.['x-hidden'] || !kind.enum?.includes('time_based')) return {};
  const leg = panel?.booking?.legs.find(({ id }) => id === legId) ?? panel?.booking?.legs[0];
  return { kind: leg && Date.parse(leg.end) <= nowMs ? 'time_based' : 'milestone' };
}

function askableOf({ documents: papers }: Docs): Choice[] {
  const askable = papers.filter(({ can_ask }) => can_ask);
  return askable.map(({ id, title }) => ({ value: id, label: title }));
}

function legsOf({ booking }: Panel, userId: string): Choice[] {
  const isMine = (seller: string): boolean => booking?.buyer === userId || seller === userId;
  return (booking?.legs ?? [])
    .filter(({ seller, state }) => isMine(seller) && state !== 'cancelled')
    .map(({ id, title }) => ({ value: id, label: title }));
}

function bookedOf({ booking }: Panel, { format, words }: Session): Record<string, string> {
  return Object.fromEntries(
    (booking?.legs ?? []).map(({ id, start, end, timezone }) => [
      id,
      whenText(words.cards, whenOf(format, start, end, timezone)),
    ]),
  );
}

function rangeZone(card: Card | null): unknown {
  return (card?.totals['old_range'] as { timezone?: string } | undefined)?.timezone;
}

function optionsOf(card: Card | null, { format, words }: Session): Choice[] {
  const options = (card?.payload['options'] ?? []) as { start: string; end: string }[];
  if (!Array.isArray(options)) return [];
  const zone = rangeZone(card);
  return options.map(({ start, end }, index) => ({
    value: String(index),
    label: whenText(words.cards, whenOf(format, start, end, zone)),
  }));
}

/** A document is signed by its hash, and the card says which that is. */
function fixedOf(card: Card | null, names: readonly string[]): Record<string, string> {
  const sha256 = card?.totals['sha256'];
  return names.includes('sha256') && typeof sha256 === 'string' ? { sha256 } : {};
}

const ANSWERED_WITH = ['start', 'end', 'timezone', 'options', 'gallery'];

/** Another proposal begins with the one that it answers, and another round with the pictures of the
 * last. */
export function answerOf(card: Card, schema: Schema): Record<string, unknown> {
  const names = Object.keys(schema.properties ?? {});
  const both = ANSWERED_WITH.filter((name) => names.includes(name) && name in card.payload);
  return Object.fromEntries(both.map((name) => [name, card.payload[name]]));
}
