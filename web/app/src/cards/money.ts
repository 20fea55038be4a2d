/** Sums as people type them, in whole cents and without fractions of numbers. Pure. */

import { fractionDigits } from '../i18n/format.ts';

const USUAL_DIGITS = 2;

export function digitsOf(currency: string | null): number {
  return currency ? fractionDigits(currency) : USUAL_DIGITS;
}

/** `91.50`, or `91,50` where that is how it is written. */
export function moneyText(cents: number, locale: string, currency: string | null): string {
  const digits = digitsOf(currency);
  const sign = cents < 0 ? '-' : '';
  const figures = String(Math.abs(cents)).padStart(digits + 1, '0');
  if (digits === 0) return sign + figures;
  const point = separators(locale).decimal;
  return `${sign}${figures.slice(0, -digits)}${point}${figures.slice(-digits)}`;
}

/** Null where it is no sum. A point or a comma is understood in every language. */
export function centsOf(text: string, locale: string, currency: string | null): number | null {
  const digits = digitsOf(currency);
  const bare = text.replace(/[\s'’]|[^\d.,-]/gu, '');
  const match = /^(-?)(\d[\d.,]*)$/.exec(bare);
  if (!match) return null;
  const split = splitAt(match[2] ?? '', locale, digits);
  if (!split) return null;
  const [units, fraction] = split;
  if (fraction.length > digits) return null;
  const cents = Number(`${match[1]}${units}${fraction.padEnd(digits, '0')}`);
  return Number.isSafeInteger(cents) ? cents : null;
}

/** What stands before and after the point. The last sign of two kinds is the point; one alone
 * groups thousands only where the language groups by it. */
function splitAt(figures: string, locale: string, digits: number): [string, string] | null {
  const last = Math.max(figures.lastIndexOf('.'), figures.lastIndexOf(','));
  if (last < 0) return [figures, ''];
  const point = figures.charAt(last);
  const before = figures.slice(0, last);
  const after = figures.slice(last + 1);
  const isMixed = /[.,]/.test(before) && !before.includes(point);
  const isRepeated = before.includes(point);
  const isGroup = after.length === 3 && (isRepeated || separators(locale).group === point);
  if (isGroup && !isMixed && (digits !== 3 || isRepeated)) return ungroup(figures, point, '');
  if (isRepeated) return null;
  return isMixed ? ungroup(before, point === '.' ? ',' : '.', after) : [before, after];
}

function ungroup(figures: string, group: string, fraction: string): [string, string] | null {
  const [first = '', ...groups] = figures.split(group);
  const isWhole = /^\d{1,3}$/.test(first) && groups.every((each) => /^\d{3}$/.test(each));
  return isWhole ? [first + groups.join(''), fraction] : null;
}

function separators(locale: string): { decimal: string; group: string } {
  const parts = new Intl.NumberFormat(locale).formatToParts(12_345.6);
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? '';
  return { decimal: part('decimal') || '.', group: part('group') };
}
