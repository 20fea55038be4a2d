/** Dates, times, sums: as the reader's language and place write them. */

import type { Money } from '@greenroom/sdk';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_DAYS = 6;
const EPOCH = new Date(0).toISOString();
const TIME: Intl.DateTimeFormatOptions = { timeStyle: 'short' };
const DATE: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
const DATE_WITH_YEAR: Intl.DateTimeFormatOptions = { ...DATE, year: 'numeric' };

export class Format {
  readonly locale: string;
  readonly #timeZone: string | undefined;
  /** Made when first needed: each takes a while. */
  readonly #kept = new Map<string, unknown>();

  readonly #now: () => number;

  /** In the zone where the reader is, unless one is given. */
  constructor(locale: string, timeZone?: string, now = Date.now) {
    this.locale = locale;
    this.#timeZone = timeZone;
    this.#now = now;
  }

  get timeZone(): string {
    return this.#dated(TIME).resolvedOptions().timeZone;
  }

  /** What the first page needs, made while it waits for its answer: each in a task of its own. */
  prepare(): void {
    const firsts = [
      () => this.time(0),
      () => this.full(0),
      () => this.number(0),
      () => this.list([]),
      () => this.#relative('long'),
      () => this.range(EPOCH, EPOCH),
    ];
    for (const first of firsts) setTimeout(first);
  }

  /** `10:32` */
  time(at: string | number): string {
    return this.#dated(TIME).format(new Date(at));
  }

  /** The whole of it, for a tooltip or a screen reader. */
  full(at: string | number): string {
    return this.#dated({ dateStyle: 'full', timeStyle: 'short' }).format(new Date(at));
  }

  date(at: string | number): string {
    return this.#dated(DATE_WITH_YEAR).format(new Date(at));
  }

  /** The same for all moments of one day, where the reader is or in another zone: `2026-11-16`. */
  dayKey(at: string | number, timeZone = this.#timeZone): string {
    const date = new Date(at);
    // Without a zone the clock of the browser tells, and no calendar has to be loaded.
    if (!timeZone) return isoDay(date);
    const make = (): Intl.DateTimeFormat => new Intl.DateTimeFormat('en-CA', { timeZone });
    return this.#keep(`day ${timeZone}`, make).format(date);
  }

  /** In a list: `2m`, `3h` as the language says it, then a weekday, then a date. */
  short(at: string, nowMs: number): string {
    const ageMs = Math.max(0, nowMs - Date.parse(at));
    if (ageMs < MINUTE_MS) return this.#relative('short').format(0, 'second');
    if (ageMs < HOUR_MS) {
      return this.#relative('short').format(-Math.floor(ageMs / MINUTE_MS), 'minute');
    }
    if (this.dayKey(at) === this.dayKey(nowMs)) return this.time(at);
    if (this.#daysAgo(at, nowMs) <= WEEK_DAYS) {
      return this.#dated({ weekday: 'short' }).format(new Date(at));
    }
    return this.#dateInList(at, nowMs);
  }

  /** Over a day's messages: Today, Yesterday, Monday, 3 November. */
  day(at: string, nowMs: number): string {
    const days = this.#daysAgo(at, nowMs);
    if (days <= 1) {
      return capitalised(this.#relative('long').format(-days, 'day'), this.locale);
    }
    const isRecent = days <= WEEK_DAYS;
    const options: Intl.DateTimeFormatOptions = isRecent
      ? { weekday: 'long' }
      : { weekday: 'long', day: 'numeric', month: 'long', ...this.#yearUnlessNow(at, nowMs) };
    return this.#dated(options).format(new Date(at));
  }

  /** `Sat 21 Nov, 10:00–14:00`, in the reader's zone unless one is given; with the year unless it is
   * this one. */
  range(start: string, end: string, timeZone = this.#timeZone): string {
    const year = (at: string | number): string => this.dayKey(at, timeZone).slice(0, 4);
    const isThisYear = [start, end].every((at) => year(at) === year(this.#now()));
    const format = this.#dated({
      timeZone,
      weekday: 'short',
      ...(isThisYear ? DATE : DATE_WITH_YEAR),
      hour: this.#hour,
      minute: '2-digit',
    });
    return format.formatRange(new Date(start), new Date(end));
  }

  /** `10:00–14:00`, in the reader's zone. */
  hours(start: string, end: string): string {
    const format = this.#dated({ hour: this.#hour, minute: '2-digit' });
    return format.formatRange(new Date(start), new Date(end));
  }

  /** `Sat 21 Nov`, with the year unless it is this one. */
  weekdayDate(at: string, nowMs: number): string {
    const options = { weekday: 'short', ...DATE, ...this.#yearUnlessNow(at, nowMs) } as const;
    return this.#dated(options).format(new Date(at));
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
    const format = this.#numbered({ style: 'currency', currency });
    const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
    return format.format(amount_cents / 10 ** digits);
  }

  number(value: number): string {
    return this.#numbered({}).format(value);
  }

  /** Of a hundred: `50 %` as the language writes it. */
  percent(value: number): string {
    return this.#numbered({ style: 'percent' }).format(value / 100);
  }

  list(items: readonly string[]): string {
    const make = (): Intl.ListFormat => new Intl.ListFormat(this.locale, { type: 'conjunction' });
    return this.#keep('list', make).format(items);
  }

  #units(...parts: [number, string][]): string {
    const some = parts.filter(([count], index) => count > 0 || index === 0);
    return some
      .map(([count, unit]) =>
        this.#numbered({ style: 'unit', unit, unitDisplay: 'short' }).format(count),
      )
      .join(' ');
  }

  #daysAgo(at: string, nowMs: number): number {
    return Math.round((Date.parse(this.dayKey(nowMs)) - Date.parse(this.dayKey(at))) / DAY_MS);
  }

  #dateInList(at: string, nowMs: number): string {
    const isThisYear = this.dayKey(at).slice(0, 4) === this.dayKey(nowMs).slice(0, 4);
    return this.#dated(isThisYear ? DATE : DATE_WITH_YEAR).format(new Date(at));
  }

  /** Two digits where the clock has 24 hours: as the language writes a time that stands alone. */
  get #hour(): '2-digit' | 'numeric' {
    const { hourCycle } = this.#dated({ hour: 'numeric' }).resolvedOptions();
    return hourCycle?.startsWith('h2') ? '2-digit' : 'numeric';
  }

  #yearUnlessNow(at: string, nowMs: number): Intl.DateTimeFormatOptions {
    const isThisYear = this.dayKey(at).slice(0, 4) === this.dayKey(nowMs).slice(0, 4);
    return isThisYear ? {} : { year: 'numeric' };
  }

  #dated(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
    const make = (): Intl.DateTimeFormat =>
      new Intl.DateTimeFormat(this.locale, { timeZone: this.#timeZone, ...options });
    return this.#keep(`dated ${JSON.stringify(options)}`, make);
  }

  #numbered(options: Intl.NumberFormatOptions): Intl.NumberFormat {
    const make = (): Intl.NumberFormat => new Intl.NumberFormat(this.locale, options);
    return this.#keep(`numbered ${JSON.stringify(options)}`, make);
  }

  #relative(style: 'short' | 'long'): Intl.RelativeTimeFormat {
    const options = { numeric: 'auto', style } as const;
    const make = (): Intl.RelativeTimeFormat => new Intl.RelativeTimeFormat(this.locale, options);
    return this.#keep(`relative ${style}`, make);
  }

  #keep<T>(name: string, make: () => T): T {
    if (!this.#kept.has(name)) this.#kept.set(name, make());
    return this.#kept.get(name) as T;
  }
}

function isoDay(date: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** How many digits a currency has after the point: two for most, none for yen. */
export function fractionDigits(currency: string): number {
  const options = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  return options.maximumFractionDigits ?? 2;
}

function capitalised(text: string, locale: string): string {
  return text.charAt(0).toLocaleUpperCase(locale) + text.slice(1);
}
