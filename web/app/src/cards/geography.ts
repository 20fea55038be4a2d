/** How far it is between two places, and in which direction. Pure. */

export interface Point {
  lat: number;
  lon: number;
}

/** The eight directions, clockwise from north. */
export const DIRECTIONS = ['n', 'ne', 'e', 'se', 's', 'sw', 'w', 'nw'] as const;
export type Direction = (typeof DIRECTIONS)[number];

const EARTH_M = 6_371_000;
const MILE_M = 1_609.344;
const IN_MILES = /-(US|GB|LR|MM)$/;
/** Nearer than this a position is not more exact than the distance. */
const HERE_M = 30;

export function distanceM(from: Point, to: Point): number {
  const lat = radians(to.lat - from.lat);
  const lon = radians(to.lon - from.lon);
  const chord =
    Math.sin(lat / 2) ** 2 +
    Math.cos(radians(from.lat)) * Math.cos(radians(to.lat)) * Math.sin(lon / 2) ** 2;
  return 2 * EARTH_M * Math.asin(Math.min(1, Math.sqrt(chord)));
}

/** In degrees, clockwise from north. */
export function bearing(from: Point, to: Point): number {
  const lon = radians(to.lon - from.lon);
  const [a, b] = [radians(from.lat), radians(to.lat)];
  const east = Math.sin(lon) * Math.cos(b);
  const north = Math.cos(a) * Math.sin(b) - Math.sin(a) * Math.cos(b) * Math.cos(lon);
  return ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360;
}

/** Null where both are at the same place. */
export function directionOf(from: Point, to: Point): Direction | null {
  if (distanceM(from, to) < HERE_M) return null;
  return DIRECTIONS[Math.round(bearing(from, to) / 45) % DIRECTIONS.length] ?? null;
}

/** `650 m`, `1.2 km`, `0.7 mi`: no more digits than help to find the way. */
export function distanceText(metres: number, locale: string): string {
  const inMiles = IN_MILES.test(locale);
  const unit = inMiles ? 'mile' : metres < 1_000 ? 'meter' : 'kilometer';
  const value = inMiles ? metres / MILE_M : metres < 1_000 ? tens(metres) : metres / 1_000;
  const maximumFractionDigits = value < 10 && unit !== 'meter' ? 1 : 0;
  return new Intl.NumberFormat(locale, { style: 'unit', unit, maximumFractionDigits }).format(
    value,
  );
}

/** `53.7936° N, 1.5495° W` */
export function coordinates({ lat, lon }: Point, locale: string): string {
  const format = new Intl.NumberFormat(locale, { maximumFractionDigits: 4 });
  const part = (value: number, sign: string): string =>
    `${format.format(Math.abs(value))}° ${sign}`;
  return `${part(lat, lat < 0 ? 'S' : 'N')}, ${part(lon, lon < 0 ? 'W' : 'E')}`;
}

function tens(metres: number): number {
  return Math.max(10, Math.round(metres / 10) * 10);
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
