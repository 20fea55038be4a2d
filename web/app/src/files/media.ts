/** Facts about files: what they are, how large, how long, and what may be sent. Pure. */

import type { Media } from '@greenroom/sdk';

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
const LETTERS_OF_TYPE = 4;

export function mediaOf(mime: string): Media {
  const [family] = mime.split('/');
  if (family === 'image' || family === 'video' || family === 'audio') return family;
  return mime === 'application/pdf' ? 'pdf' : 'other';
}

/** Drawings in text form are sent as files: browsers would run what is in them. */
export function isPicture(media: Media, mime: string): boolean {
  return media === 'image' && !mime.startsWith('image/svg');
}

/** In steps of 1024, as limits are made: 20 MiB are 20 MB, not 21. */
export function sizeText(bytes: number, locale: string): string {
  const rank = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: UNITS[rank] ?? 'byte',
    unitDisplay: 'short',
    maximumFractionDigits: 1,
  }).format(bytes / 1024 ** rank);
}

/** How much of all of them has arrived, 0 to 100; null where none is on its way. */
export function percentOf(
  uploads: readonly { state: string; bytes: number; sentBytes: number }[],
): number | null {
  const isUnderWay = ({ state }: { state: string }): boolean => !['done', 'failed'].includes(state);
  if (!uploads.some(isUnderWay)) return null;
  const all = uploads.reduce((sum, { bytes }) => sum + bytes, 0);
  const sent = uploads.reduce(
    (sum, { state, bytes, sentBytes }) => sum + (state === 'done' ? bytes : sentBytes),
    0,
  );
  return all > 0 ? Math.floor((100 * sent) / all) : 0;
}

/** As on a clock: `0:07`, `12:30`. */
export function lengthText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** A few letters that say what a file is: the end of its name, else of its type. */
export function typeText(name: string, mime: string): string {
  const end = /\.([\p{L}\p{N}]{1,4})$/u.exec(name)?.[1];
  const kind = mime.split('/')[1]?.replace(/^(x-|vnd\.)/, '') ?? '';
  return (end ?? kind.slice(0, LETTERS_OF_TYPE)).toUpperCase();
}

export interface FileLimits {
  file_bytes?: number;
  attachments?: number;
}

export interface Refused {
  name: string;
  why: 'too_large' | 'empty' | 'too_many';
}

export interface Sorted<T> {
  taken: T[];
  refused: Refused[];
}

/** Those that a message can still take, in their order. */
export function sortOut<T extends { name: string; size: number }>(
  chosen: readonly T[],
  already: number,
  limits: FileLimits | null | undefined,
): Sorted<T> {
  const { file_bytes: mostBytes = Infinity, attachments: most = 10 } = limits ?? {};
  const sorted: Sorted<T> = { taken: [], refused: [] };
  for (const each of chosen) {
    const why = whyNot(each.size, mostBytes, already + sorted.taken.length >= most);
    if (why) sorted.refused.push({ name: each.name, why });
    else sorted.taken.push(each);
  }
  return sorted;
}

function whyNot(bytes: number, mostBytes: number, isFull: boolean): Refused['why'] | null {
  if (bytes === 0) return 'empty';
  if (bytes > mostBytes) return 'too_large';
  return isFull ? 'too_many' : null;
}

/** The list with one of it at another place. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const target = Math.min(Math.max(to, 0), list.length - 1);
  const one = list[from];
  if (one === undefined) return [...list];
  const others = list.filter((_, at) => at !== from);
  return [...others.slice(0, target), one, ...others.slice(target)];
}

/** As the server makes it of a recording: the loudest is 100. */
export function waveFormOf(peaks: readonly number[], count: number): number[] {
  const bars = barsOf(peaks, count);
  const loudest = Math.max(1, ...bars);
  return bars.map((bar) => Math.round((bar * 100) / loudest));
}

/** As many heights as there are bars, each the loudest of its part. */
export function barsOf(peaks: readonly number[], count: number): number[] {
  if (peaks.length === 0) return Array.from({ length: count }, () => 0);
  return Array.from({ length: count }, (_, at) => {
    const from = Math.floor((at * peaks.length) / count);
    const to = Math.max(from + 1, Math.floor(((at + 1) * peaks.length) / count));
    return Math.max(...peaks.slice(from, to));
  });
}
