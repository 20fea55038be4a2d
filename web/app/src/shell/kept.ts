/** What the shell keeps in the browser: the sign-in for this window, the taste for all of them. */

export type Theme = 'system' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const TOKEN = 'greenroom.token';
const SAMPLE = 'greenroom.sample';
const LOCALE = 'greenroom.locale';
const THEME = 'greenroom.theme';
const SINGLE_KEYS = 'greenroom.single-keys';

/** Of this window only, so that two windows can be two people. */
export function keptToken(): string | null {
  return read(() => sessionStorage, TOKEN);
}

export function keepToken(token: string, from: 'marketplace' | 'sample'): void {
  write(() => sessionStorage, TOKEN, token);
  write(() => sessionStorage, SAMPLE, from === 'sample' ? 'yes' : null);
}

export function forgetToken(): void {
  write(() => sessionStorage, TOKEN, null);
  write(() => sessionStorage, SAMPLE, null);
}

export function isSample(): boolean {
  return read(() => sessionStorage, SAMPLE) !== null;
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
