/** What can be said of a message's text without drawing it. Pure. */

export const LONGEST = 2000;
/** From here on the person sees how much is left. */
export const COUNTED_FROM = 1800;
const EXCERPT = 140;

/** As the server counts: characters, not the units of a string. */
export function lengthOf(text: string): number {
  return [...text.normalize('NFC').trim()].length;
}

/** One line without the marks of formatting, for quotes and for being read aloud. */
export function excerptOf(body: string, most = EXCERPT): string {
  const plain = body
    .replace(/```\w*\n?|`/gu, '')
    .replace(/\[([^\]\n]+)\]\([^)\s]+\)/gu, '$1')
    .replace(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/gu, '$2')
    .replace(/(?<![\p{L}\p{N}])([*_])(?=\S)(.+?)(?<=\S)\1(?![\p{L}\p{N}])/gu, '$2')
    .replace(/^\s*(?:>|[-*+]\s)\s*/gmu, '')
    .replace(/\s+/gu, ' ')
    .trim();
  const letters = [...plain];
  return letters.length > most
    ? `${letters
        .slice(0, most - 1)
        .join('')
        .trimEnd()}…`
    : plain;
}

const EMOJI_ONLY =
  /^(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u200d\ufe0f]\s?)+$/u;

/** A few emoji and nothing else are drawn large. */
export function isEmojiOnly(body: string): boolean {
  const text = body.trim();
  if (text.length > 24) return false;
  return EMOJI_ONLY.test(text);
}
