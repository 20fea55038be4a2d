/** Which rows of a long list are worth drawing, and how it stays in place. Pure. */

export interface Span {
  readonly from: number;
  /** Not included. */
  readonly to: number;
}

const MORE_ROWS = 6;
/** The next page is asked for when so many rows are left below. */
const NEAR_END = 40;

export interface Sight {
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
}

/** Some more above and below, so that a scroll finds them drawn. */
export function spanOf({ scrollTop, height, rowHeight }: Sight, count: number): Span {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight);
  const last = Math.ceil((Math.max(0, scrollTop) + height) / rowHeight);
  const from = Math.min(Math.max(0, first - MORE_ROWS), count);
  return { from, to: Math.max(from, Math.min(count, last + MORE_ROWS)) };
}

export function isNearEnd({ to }: Span, count: number): boolean {
  return to + NEAR_END >= count;
}

/** By how many rows most of what was seen has moved: new ones above push it down. */
export function shiftOf(
  before: readonly string[],
  first: number,
  find: (id: string) => number,
): number {
  const votes = new Map<number, number>();
  before.forEach((id, index) => {
    const now = find(id);
    if (now >= 0) votes.set(now - first - index, (votes.get(now - first - index) ?? 0) + 1);
  });
  let [best, most] = [0, 0];
  for (const [shift, count] of votes) if (count > most) [best, most] = [shift, count];
  return best;
}

/** Where to scroll for a row that was opened from elsewhere: into the middle, unless it is seen. */
export function scrollToMeet(sight: Sight, index: number): number {
  const { scrollTop, height, rowHeight } = sight;
  if (scrollToSee(sight, index) === scrollTop) return scrollTop;
  return Math.max(0, index * rowHeight - (height - rowHeight) / 2);
}

/** Where to scroll so that a row is wholly seen, with as little movement as possible. */
export function scrollToSee({ scrollTop, height, rowHeight }: Sight, index: number): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  return Math.max(scrollTop, top + rowHeight - height);
}
