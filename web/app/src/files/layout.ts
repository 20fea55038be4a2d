/** How pictures stand together in a message, before any of them has arrived. Pure. */

/** One picture is never narrower or wider than this, so that it fits beside the text. */
const TALLEST = 3 / 4;
const WIDEST = 16 / 9;
/** Of a picture whose size nobody knows yet. */
const UNKNOWN = 4 / 3;

export type Tile = 'lead' | 'half' | 'third';

/** Three stand as one large and two small; the others in rows of two and three. */
const ROWS: Readonly<Record<number, readonly number[]>> = {
  2: [2],
  4: [2, 2],
  5: [2, 3],
  6: [3, 3],
  7: [2, 2, 3],
  8: [2, 3, 3],
  9: [3, 3, 3],
  10: [2, 2, 3, 3],
};

export function tilesOf(count: number): Tile[] {
  if (count === 3) return ['lead', 'third', 'third'];
  const rows = ROWS[count] ?? Array.from({ length: Math.ceil(count / 3) }, () => 3);
  const tiles = rows.flatMap((size) =>
    Array.from({ length: size }, (): Tile => (size === 2 ? 'half' : 'third')),
  );
  return tiles.slice(0, count);
}

/** Width by height of one picture alone. */
export function ratioOf(
  width: number | null | undefined,
  height: number | null | undefined,
): number {
  if (!width || !height) return UNKNOWN;
  return Math.min(WIDEST, Math.max(TALLEST, width / height));
}
