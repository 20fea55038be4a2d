/** Dates, times, sums: as the reader's language and place write them. */

import type { Money } from '@greenroom/sdk';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_DAYS = 6;

export class Format {
  readonly locale: string;
  readonly timeZone: string;
  readonly #time: Intl.DateTimeFormat;
  readonly #weekday: Intl.DateTimeFormat;
  readonly #date: Intl.DateTimeFormat;
  readonly #dateWithYear: Intl.DateTimeFormat;
  readonly #full: Intl.DateTimeFormat;
  readonly #dayKey: Intl.DateTimeFormat;
  readonly #relative: Intl.RelativeTimeFormat;
  readonly #number: Intl.NumberFormat;
  readonly #list: Intl.ListFormat;
  readonly #money = new Map<string, Intl.NumberFormat>();

  constructor(locale: string, timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone) {
    this.locale = locale;
    this.timeZone = timeZone;
    const make = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
      new Intl.DateTimeFormat(locale, { timeZone, ...options });
    this.#time = make({ hour: 'numeric', minute: '2-digit' });
    this.#weekday = make({ weekday: 'short' });
    this.#date = make({ day: 'numeric', month: 'short' });
    this.#dateWithYear = make({ day: 'numeric', month: 'short', year: 'numeric' });
    this.#full = make({ dateStyle: 'full', timeStyle: 'short' });
    this.#dayKey = new Intl.DateTimeFormat('en-CA', { timeZone });
    this.#relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'narrow' });
    this.#number = new Intl.NumberFormat(locale);
    this.#list = new Intl.ListFormat(locale, { type: 'conjunction' });
  }

  /** `10:32` */
  time(at: string | number): string {
    return this.#time.format(new Date(at));
  }

  /** The whole of it, for a tooltip or a screen reader. */
  full(at: string | number): string {
    return this.#full.format(new Date(at));
  }

  date(at: string | number): string {
    return this.#dateWithYear.format(new Date(at));
  }

  /** The same for all moments of one day where the reader is: `2026-11-16`. */
  dayKey(at: string | number): string {
    return this.#dayKey.format(new Date(at));
  }

  /** In a list: `2m`, `3h` as the language says it, then a weekday, then a date. */
  short(at: string, nowMs: number): string {
    const ageMs = Math.max(0, nowMs - Date.parse(at));
    if (ageMs < MINUTE_MS) return this.#relative.format(0, 'second');
    if (ageMs < HOUR_MS) return this.#relative.format(-Math.floor(ageMs / MINUTE_MS), 'minute');
    if (this.dayKey(at) === this.dayKey(nowMs)) return this.time(at);
    if (this.#daysAgo(at, nowMs) <= WEEK_DAYS) return this.#weekday.format(new Date(at));
    return this.#dateInList(at, nowMs);
  }

  /** Over a day's messages: Today, Yesterday, Monday, 3 November. */
  day(at: string, nowMs: number): string {
    const days = this.#daysAgo(at, nowMs);
    if (days <= 1) {
      const words = new Intl.RelativeTimeFormat(this.locale, { numeric: 'auto' });
      return capitalised(words.format(-days, 'day'), this.locale);
    }
    const { timeZone } = this;
    const isRecent = days <= WEEK_DAYS;
    const options: Intl.DateTimeFormatOptions = isRecent
      ? { weekday: 'long' }
      : { weekday: 'long', day: 'numeric', month: 'long', ...this.#yearUnlessNow(at, nowMs) };
    return new Intl.DateTimeFormat(this.locale, { timeZone, ...options }).format(new Date(at));
  }

  /** `Sat 21 Nov, 10:00–14:00`, in the reader's zone unless one is given. */
  range(start: string, end: string, timeZone = this.timeZone): string {
    return new Intl.DateTimeFormat(this.locale, {
      timeZone,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: 'numeric',
      minute: '2-digit',
    }).formatRange(new Date(start), new Date(end));
  }

  /** What is left until then: `2 d 4 h`, `3 h 20 min`, `45 s`. */
  left(until: string, nowMs: number): string {
    const leftS = Math.max(0, Math.ceil((Date.parse(until) - nowMs) / 1000));
    const days = Math.floor(leftS / 86_400);
    const hours = Math.floor((leftS % 86_400) / 3_600);
    const minutes = Math.floor((leftS % 3_600) / 60);
    if (days > 0) return this.#units([days, 'day'], [hours, 'hour']);
    if (hours > 0) return this.#units([hours, 'hour'], [minutes, 'minute']);
    return minutes > 0 ? this.#units([minutes, 'minute']) : this.#units([leftS, 'second']);
  }

  money({ amount_cents, currency }: Money): string {
    let format = this.#money.get(currency);
    if (!format) {
      format = new Intl.NumberFormat(this.locale, { style: 'currency', currency });
      this.#money.set(currency, format);
    }
    return format.format(amount_cents / 10 ** fractionDigits(currency));
  }

  number(value: number): string {
    return this.#number.format(value);
  }

  /** Of a hundred: `50 %` as the language writes it. */
  percent(value: number): string {
    return new Intl.NumberFormat(this.locale, { style: 'percent' }).format(value / 100);
  }

  list(items: readonly string[]): string {
    return this.#list.format(items);
  }

  #units(...parts: [number, string][]): string {
    const some = parts.filter(([count], index) => count > 0 || index === 0);
    return some
      .map(([count, unit]) =>
        new Intl.NumberFormat(this.locale, { style: 'unit', unit, unitDisplay: 'short' }).format(
          count,
        ),
      )
      .join(' ');
  }

  #daysAgo(at: string, nowMs: number): number {
    return Math.round((Date.parse(this.dayKey(nowMs)) - Date.parse(this.dayKey(at))) / DAY_MS);
  }

  #dateInList(at: string, nowMs: number): string {
    const isThisYear = this.dayKey(at).slice(0, 4) === this.dayKey(nowMs).slice(0, 4);
    return (isThisYear ? this.#date : this.#dateWithYear).format(new Date(at));
  }

  #yearUnlessNow(at: string, nowMs: number): Intl.DateTimeFormatOptions {
    const isThisYear = this.dayKey(at).slice(0, 4) === this.dayKey(nowMs).slice(0, 4);
    return isThisYear ? {} : { year: 'numeric' };
  }
}

/** How many digits a currency has after the point: two for most, none for yen. */
export function fractionDigits(currency: string): number {
  const options = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  return options.maximumFractionDigits ?? 2;
}

function capitalised(text: string, locale: string): string {
  return text.charAt(0).toLocaleUpperCase(locale) + text.slice(1);
}
