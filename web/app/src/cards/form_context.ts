/** What a form begins with: the booking around it, its documents, and the card that it answers. */

import type { Card, DocsTab, Panel } from '@greenroom/sdk';

import type { Session } from '../session/session.ts';
import { documents, panels } from './desk.ts';
import type { Choice, FormContext, Schema } from './schema.ts';
import { currencyOf } from './sums.ts';
import { isZone } from './zones.ts';

/** What a form for a new card, or for an answer to one, can know. */
export async function formContext(
  session: Session,
  threadId: string,
  schema: Schema,
  card: Card | null,
  needsLeg = false,
): Promise<FormContext> {
  const { format, locale, clock } = session;
  const names = Object.keys(schema.properties ?? {});
  const [panel, papers] = await Promise.all([
    card ? null : panels.get(session, threadId).catch(() => null),
    names.includes('document_id') ? documents.get(session, threadId).catch(() => null) : null,
  ]);
  const legs = panel ? legsOf(panel, session.userId) : [];
  const legId = panel?.leg_id ?? (legs.length === 1 ? (legs[0]?.value ?? null) : null);
  const leg = panel?.booking?.legs.find(({ id }) => id === legId) ?? panel?.booking?.legs[0];
  const zones = [card?.payload['timezone'], rangeZone(card), leg?.timezone, format.timeZone];
  return {
    locale,
    timeZone: format.timeZone,
    zone: zones.find(isZone) ?? format.timeZone,
    nowMs: clock.now(),
    currency: (card && currencyOf(card)) ?? panel?.booking?.currency ?? null,
    legs,
    needsLeg,
    legId: legs.some(({ value }) => value === legId) ? legId : null,
    documents: papers && askableOf(papers),
    options: optionsOf(card, session),
    fixed: fixedOf(card, names),
    canList: names.includes('manifest_id'),
  };
}

function askableOf({ documents: papers }: DocsTab): Choice[] {
  const askable = papers.filter(({ can_ask }) => can_ask);
  return askable.map(({ id, title }) => ({ value: id, label: title }));
}

function legsOf({ booking }: Panel, userId: string): Choice[] {
  const isMine = (seller: string): boolean => booking?.buyer === userId || seller === userId;
  return (booking?.legs ?? [])
    .filter(({ seller, state }) => isMine(seller) && state !== 'cancelled')
    .map(({ id, title }) => ({ value: id, label: title }));
}

function rangeZone(card: Card | null): unknown {
  return (card?.totals['old_range'] as { timezone?: string } | undefined)?.timezone;
}

function optionsOf(card: Card | null, { format }: Session): Choice[] {
  const options = (card?.payload['options'] ?? []) as { start: string; end: string }[];
  if (!Array.isArray(options)) return [];
  return options.map(({ start, end }, index) => ({
    value: String(index),
    label: format.range(start, end),
  }));
}

/** A document is signed by its hash, and the card says which that is. */
function fixedOf(card: Card | null, names: readonly string[]): Record<string, string> {
  const sha256 = card?.totals['sha256'];
  return names.includes('sha256') && typeof sha256 === 'string' ? { sha256 } : {};
}

const ANSWERED_WITH = ['start', 'end', 'timezone', 'options'];

/** Another proposal begins with the one that it answers. */
export function answerOf(card: Card, schema: Schema): Record<string, unknown> {
  const names = Object.keys(schema.properties ?? {});
  const both = ANSWERED_WITH.filter((name) => names.includes(name) && name in card.payload);
  return Object.fromEntries(both.map((name) => [name, card.payload[name]]));
}
