/** Which leg the header of a booking shows, and which of its timers ends next. Pure. */

import type { Card, Leg, Panel, PanelTimer } from '@greenroom/sdk';

import type { Format } from '../i18n/format.ts';
import { untilOf } from '../i18n/when.ts';

/** The thread's own leg, or the first one that is not over. */
export function legShown({ booking, leg_id }: Panel): Leg | null {
  const legs = booking?.legs ?? [];
  const isLive = ({ state }: Leg): boolean => state !== 'cancelled' && state !== 'completed';
  return legs.find(({ id }) => id === leg_id) ?? legs.find(isLive) ?? legs[0] ?? null;
}

/** Of several things to come the first; that a leg ends matters once it has begun. */
export function nextTimer({ timers }: Panel, leg: Leg | null, nowMs: number): PanelTimer | null {
  const isOfLeg = ({ leg_id }: PanelTimer): boolean => !leg || !leg_id || leg_id === leg.id;
  const hasBegun = leg !== null && Date.parse(leg.start) <= nowMs;
  const coming = timers.filter(
    (timer) =>
      isOfLeg(timer) && Date.parse(timer.at) > nowMs && (timer.kind !== 'leg_ends' || hasBegun),
  );
  return coming.reduce<PanelTimer | null>(
    (first, timer) => (first && first.at <= timer.at ? first : timer),
    null,
  );
}

/** One time without a word beside it is read as the booking's: the deadline of a card is not. */
export function shortTime(
  format: Format,
  { kind, at }: PanelTimer,
  leg: Leg,
  nowMs: number,
): string {
  const isOfBooking = kind === 'leg_starts' || kind === 'leg_ends';
  return isOfBooking ? untilOf(format, at, nowMs).text : format.weekdayDate(leg.start, nowMs);
}

/** Whether the reader is the one who has to answer until then. */
export function isAwaited(card: Card | undefined, userId: string): boolean {
  return card?.waits_for.includes(userId) ?? false;
}

/** `1:02:33` since then. */
export function stopwatch(sinceMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  const two = (count: number): string => String(count).padStart(2, '0');
  const minutes = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${Math.floor(seconds / 3600)}:${minutes}`;
}
