/** Which rendition of a file to show, and whether its address still works. Pure. */

import type { Rendition, RenditionKind, StoredFile } from '@greenroom/sdk';

export interface Source {
  type: string;
  srcset: string;
}

export interface PictureSources {
  /** Better formats first; the browser takes the first that it knows. */
  sources: Source[];
  src: string;
  srcset: string;
}

const SHOWN: readonly RenditionKind[] = ['thumb', 'preview'];
const BEST_FIRST = ['image/avif', 'image/webp'];
/** Clocks differ, and a picture takes a moment. */
const MARGIN_MS = 15_000;

/** Of a picture in the timeline. What is blurred or a video has one rendition only. */
export function sourcesOf(file: StoredFile, kinds = SHOWN): PictureSources | null {
  const shown = kindsFor(file, kinds);
  const renditions = file.renditions.filter(({ kind }) => shown.includes(kind));
  const plain = renditions.filter(({ mime }) => !BEST_FIRST.includes(mime));
  const fallback = plain.length > 0 ? plain : renditions;
  const first = fallback[0];
  if (!first) return null;
  const sources = BEST_FIRST.flatMap((type) => {
    const same = renditions.filter(({ mime }) => mime === type);
    return same.length > 0 && plain.length > 0 ? [{ type, srcset: srcsetOf(same) }] : [];
  });
  return { sources, src: first.url, srcset: srcsetOf(fallback) };
}

function kindsFor(file: StoredFile, kinds: readonly RenditionKind[]): readonly RenditionKind[] {
  if (file.visibility === 'blurred') return ['blurred'];
  const hasPoster = file.renditions.some(({ kind }) => kind === 'poster');
  return file.media !== 'image' && hasPoster ? ['poster'] : kinds;
}

function srcsetOf(renditions: readonly Rendition[]): string {
  const known = renditions.filter(({ width }) => width);
  return known.map(({ url, width }) => `${url} ${width}w`).join(', ');
}

/** The best one to look at closely. */
export function largestOf(file: StoredFile): PictureSources | null {
  return sourcesOf(file, ['preview']) ?? sourcesOf(file);
}

/** What a click on "Download" gets; null where there is nothing. */
export function downloadOf({ renditions }: StoredFile): Rendition | null {
  const find = (kind: RenditionKind): Rendition | undefined =>
    renditions.find((each) => each.kind === kind);
  return find('original') ?? find('preview') ?? null;
}

/** What plays: the original, or the preview that was made of it. */
export function playableOf({ renditions }: StoredFile): Rendition | null {
  const plays = renditions.filter(({ mime }) => /^(audio|video)\//.test(mime));
  return plays.find(({ kind }) => kind === 'preview') ?? plays[0] ?? null;
}

/** When an address ends to work; infinity where it does not say. */
export function endOf(url: string): number {
  const query = new URL(url, 'https://greenroom.invalid').searchParams;
  const own = query.get('expires');
  if (own) return Number(own) * 1000;
  const [signed, livesS] = [query.get('X-Amz-Date'), query.get('X-Amz-Expires')];
  const at = signed && /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(signed);
  if (!at || !livesS) return Infinity;
  const [year = 0, month = 1, ...rest] = at.slice(1).map(Number);
  return (
    Date.UTC(year, month - 1, ...(rest as [number, number, number, number])) + Number(livesS) * 1000
  );
}

/** Whether an address of the file has ended, so that the server has to be asked again. */
export function isStale(file: StoredFile, nowMs: number): boolean {
  return file.renditions.some(({ url }) => endOf(url) - MARGIN_MS < nowMs);
}

/** The same for two forms of a file that look the same, whatever their addresses are. */
export function lookOf(file: StoredFile): string {
  const shown = file.renditions.map(({ kind, mime, width }) => `${kind} ${mime} ${width}`);
  return [file.state, file.visibility, file.can_reveal, ...shown].join();
}
