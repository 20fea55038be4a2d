/** Names of time zones. Pure. */

/** What the browser has said of zones: it is slow to ask. */
const known = new Map<string, boolean>();

/** A payload may name a zone that this browser does not know. */
export function isZone(timeZone: unknown): timeZone is string {
  if (typeof timeZone !== 'string' || !timeZone) return false;
  if (!known.has(timeZone)) known.set(timeZone, canFormatIn(timeZone));
  return known.get(timeZone) ?? false;
}

function canFormatIn(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** `Europe/London` is read as London. */
export function zoneName(timeZone: string): string {
  return (timeZone.split('/').at(-1) ?? timeZone).replaceAll('_', ' ');
}
