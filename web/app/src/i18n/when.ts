/** When something happens: in the time of its place first, and in the reader's where they differ. Pure. */

import type { Format } from './format.ts';
import { isZone, zoneName } from './zones.ts';

const DAY_MS = 86_400_000;
/** Further away than this a date says more than a number of days. */
const COUNTED_DAYS = 3;

export interface When {
  /** Where it happens. */
  event: string;
  /** The place that `event` is the time of; null where the reader's clock shows the same. */
  zone: string | null;
  /** Where the reader is; null where that is the same. The day only where it is another. */
  yours: string | null;
}

export function whenOf(format: Format, start: string, end: string, zone: unknown): When {
  const own = format.range(start, end);
  const there = isZone(zone) ? format.range(start, end, zone) : own;
  if (there === own || !isZone(zone)) return { event: own, zone: null, yours: null };
  const isSameDay = [start, end].every((at) => format.dayKey(at) === format.dayKey(at, zone));
  const yours = isSameDay ? format.hours(start, end) : own;
  return { event: there, zone: zoneName(zone), yours };
}

export interface WhenWords {
  inZone(zone: string): string;
  yourTime(time: string): string;
}

/** The same in one line, for a label or a button. */
export function whenText(words: WhenWords, { event, zone, yours }: When): string {
  if (zone === null || yours === null) return event;
  return `${event} · ${words.inZone(zone)} · ${words.yourTime(yours)}`;
}

/** What is left until then, or the day where that is far away. */
export interface Until {
  isNear: boolean;
  text: string;
}

export function untilOf(format: Format, at: string, nowMs: number): Until {
  const isNear = Date.parse(at) - nowMs <= COUNTED_DAYS * DAY_MS;
  return { isNear, text: isNear ? format.left(at, nowMs) : format.weekdayDate(at, nowMs) };
}
