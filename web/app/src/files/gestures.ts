/** Where a picture stands under fingers, wheel and keys. Pure. */

export interface Place {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export const WHOLE: Place = { scale: 1, x: 0, y: 0 };
export const MOST_SCALE = 5;
const SWIPE_PX = 60;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Larger or smaller, with the point under the finger staying where it is. `at` counts from the middle. */
export function zoomed(place: Place, factor: number, at: Point = { x: 0, y: 0 }): Place {
  const scale = Math.min(MOST_SCALE, Math.max(1, place.scale * factor));
  if (scale === 1) return WHOLE;
  const grown = scale / place.scale;
  return {
    scale,
    x: at.x - (at.x - place.x) * grown,
    y: at.y - (at.y - place.y) * grown,
  };
}

/** Moved, but never so far that its edge comes into the box. */
export function dragged(place: Place, by: Point, box: { width: number; height: number }): Place {
  const bound = (value: number, size: number): number => {
    const most = (size * (place.scale - 1)) / 2;
    return Math.min(most, Math.max(-most, value));
  };
  return {
    ...place,
    x: bound(place.x + by.x, box.width),
    y: bound(place.y + by.y, box.height),
  };
}

/** What a finger that has moved so far wants: the next picture, the one before, or none of it. */
export function swipe(by: Point, isRtl: boolean): 'next' | 'previous' | 'close' | null {
  const isAcross = Math.abs(by.x) > Math.abs(by.y);
  if (!isAcross) return by.y > 2 * SWIPE_PX ? 'close' : null;
  if (Math.abs(by.x) < SWIPE_PX) return null;
  return by.x < 0 !== isRtl ? 'next' : 'previous';
}

export function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
