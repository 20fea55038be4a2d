/** Meaning that is read from names of fields. Pure. Not in schema.ts, because that file loads with the
 * forms only. */

/** `amount_cents`, `rate_cents_per_hour`. */
export function isMoney(name: string): boolean {
  return /(^|_)cents(_|$)/.test(name);
}

/** `buyer_payable` is read as Buyer payable; what ends in cents is a sum anyway. */
export function humanised(name: string): string {
  const words =
    name
      .replace(/(^|_)(cents|id)(?=_|$)/g, '')
      .replaceAll('_', ' ')
      .trim() || name;
  return words.charAt(0).toUpperCase() + words.slice(1);
}
