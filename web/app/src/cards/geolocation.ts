/** The position of the person, from the browser, if they allow it. */

import type { Point } from './geography.ts';

const PATIENCE_MS = 15_000;

/** Fails where the reader or the device does not tell. */
export async function currentPosition(): Promise<Point> {
  const { coords } = await new Promise<GeolocationPosition>((found, failed) =>
    navigator.geolocation.getCurrentPosition(found, failed, { timeout: PATIENCE_MS }),
  );
  return { lat: coords.latitude, lon: coords.longitude };
}
