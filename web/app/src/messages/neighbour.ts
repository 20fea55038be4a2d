/** The one before or after in a list; the first where none is chosen. Null at the ends. */
export function neighbour(
  ids: readonly string[],
  current: string | null,
  step: 1 | -1,
): string | null {
  const at = current === null ? -1 : ids.indexOf(current);
  if (at < 0) return ids[0] ?? null;
  return ids[at + step] ?? null;
}
