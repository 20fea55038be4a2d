/** Which keys do what. Pure. */

export type Command = 'help' | 'search' | 'previous' | 'next' | 'back';

export interface Press {
  key: string;
  alt: boolean;
  /** Control, Meta: such keys are the browser's. */
  other: boolean;
  /** The person is writing: letters are letters. */
  isWriting: boolean;
}

/** Single keys can be switched off (WCAG 2.1.4): who dictates would press them by speaking. */
export function commandOf(press: Press, hasSingleKeys: boolean): Command | null {
  const { key, alt, other, isWriting } = press;
  if (other) return null;
  if (alt) return key === 'ArrowUp' ? 'previous' : key === 'ArrowDown' ? 'next' : null;
  if (key === 'Escape') return 'back';
  if (isWriting || !hasSingleKeys) return null;
  return key === '/' ? 'search' : key === '?' ? 'help' : null;
}

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
