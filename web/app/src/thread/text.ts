/** Facts about the text of a message. Pure. */

import type { Limits } from '@greenroom/sdk';

const EXCERPT = 140;

/** As the server counts: characters, not the units of a string. */
export function lengthOf(text: string): number {
  return [...text.normalize('NFC').trim()].length;
}

/** By how many characters a text is too long; negative where there is room, and -Infinity while the
 * limit is not known: then the server alone decides. */
export function excessOf(text: string, limits: Limits | null | undefined): number {
  return lengthOf(text) - (limits?.body_characters ?? Infinity);
}

/** Whether the person sees a counter: within the last tenth of the longest message. */
export function isCounted(excess: number, limits: Limits | null | undefined): boolean {
  return excess >= (limits?.body_characters ?? 0) / -10;
}

/** The first words of a line, for quotes and for being read aloud. */
export function excerptOf(line: string, most = EXCERPT): string {
  const letters = [...line];
  if (letters.length <= most) return line;
  return `${letters
    .slice(0, most - 1)
    .join('')
    .trimEnd()}…`;
}

const EMOJI_ONLY =
  /^(?:(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]|\u200d|\ufe0f)\s?)+$/u;

/** A few emoji and nothing else are drawn large. */
export function isEmojiOnly(body: string): boolean {
  const text = body.trim();
  if (text.length > 24) return false;
  return EMOJI_ONLY.test(text);
}
