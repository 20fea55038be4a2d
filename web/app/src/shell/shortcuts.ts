/** Which keys do what. Pure. */

export type Command = 'help' | 'search' | 'previous' | 'next' | 'back' | 'markRead';

export interface Press {
  key: string;
  alt: boolean;
  /** Control, Meta: such keys are the browser's. */
  other: boolean;
  /** The person is writing: letters are letters. */
  isWriting: boolean;
}

const SINGLE: Readonly<Record<string, Command>> = { '/': 'search', '?': 'help', m: 'markRead' };

/** Single keys can be switched off (WCAG 2.1.4): who dictates would press them by speaking. */
export function commandOf(press: Press, hasSingleKeys: boolean): Command | null {
  const { key, alt, other, isWriting } = press;
  if (other) return null;
  if (alt) return key === 'ArrowUp' ? 'previous' : key === 'ArrowDown' ? 'next' : null;
  if (key === 'Escape') return 'back';
  if (isWriting || !hasSingleKeys) return null;
  return SINGLE[key] ?? null;
}
