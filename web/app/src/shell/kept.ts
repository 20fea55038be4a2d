/** What the shell keeps in the browser: the sign-in and the taste, for all its tabs.
 *
 * A window in which the sample's visitor is somebody else has a sign-in of its own, so that two
 * windows can be two people. */

import { readClaims } from '@greenroom/sdk';

export type Theme = 'system' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const TOKEN = 'greenroom.token';
const SAMPLE = 'greenroom.sample';
const LOCALE = 'greenroom.locale';
const THEME = 'greenroom.theme';
const SINGLE_KEYS = 'greenroom.single-keys';

const own = (): Storage => sessionStorage;
const shared = (): Storage => localStorage;

/** Whether this window is somebody else than the rest of the browser. */
export function isAlone(): boolean {
  return read(own, TOKEN) !== null;
}

export function keptToken(): string | null {
  return read(own, TOKEN) ?? sharedToken();
}

/** The browser may have been closed since: what has ended meanwhile is no sign-in. */
function sharedToken(): string | null {
  const token = read(shared, TOKEN);
  const hasEnded = token !== null && (readClaims(token).exp ?? Infinity) * 1000 <= Date.now();
  if (hasEnded) forget(shared);
  return hasEnded ? null : token;
}

/** A marketplace knows one person per browser. The sample's visitor may be a second one. */
export function keepToken(token: string, from: 'marketplace' | 'sample'): void {
  const other = sharedToken();
  const isSecond = from === 'sample' && other !== null && !isSamePerson(token, other);
  if (!isSecond) forget(own);
  const place = isSecond ? own : shared;
  write(place, SAMPLE, from === 'sample' ? 'yes' : null);
  write(place, TOKEN, token);
}

function isSamePerson(token: string, other: string): boolean {
  return readClaims(token).sub === readClaims(other).sub;
}

/** The sign-in of this window: for a second person only theirs. */
export function forgetToken(): void {
  forget(isAlone() ? own : shared);
}

function forget(place: () => Storage): void {
  write(place, TOKEN, null);
  write(place, SAMPLE, null);
}

export function isSample(): boolean {
  return read(isAlone() ? own : shared, SAMPLE) !== null;
}

/** Called with the token when another tab keeps one. Returns how to stop. */
export function followToken(listener: (token: string) => void): () => void {
  const changed = ({ key, newValue, storageArea }: StorageEvent): void => {
    if (key === TOKEN && newValue && storageArea === shared()) listener(newValue);
  };
  window.addEventListener('storage', changed);
  return () => window.removeEventListener('storage', changed);
}

export function keptLocale(): string | null {
  return read(() => localStorage, LOCALE);
}

export function keepLocale(locale: string): void {
  write(() => localStorage, LOCALE, locale);
}

export function keptTheme(): Theme {
  const theme = read(() => localStorage, THEME);
  return THEMES.find((each) => each === theme) ?? 'system';
}

export function keepTheme(theme: Theme): void {
  write(() => localStorage, THEME, theme === 'system' ? null : theme);
}

export function hasSingleKeys(): boolean {
  return read(() => localStorage, SINGLE_KEYS) !== 'off';
}

export function keepSingleKeys(isOn: boolean): void {
  write(() => localStorage, SINGLE_KEYS, isOn ? null : 'off');
}

/** Browsers that refuse storage get a page that forgets, not one that breaks. */
function read(storage: () => Storage, key: string): string | null {
  try {
    return storage().getItem(key);
  } catch {
    return null;
  }
}

function write(storage: () => Storage, key: string, value: string | null): void {
  try {
    if (value === null) storage().removeItem(key);
    else storage().setItem(key, value);
  } catch {
    return;
  }
}
