/** Language, direction and appearance of the whole page. */

import { chooseLocale, languageOf } from '../i18n/index.ts';
import { keptLocale, type Theme } from './kept.ts';

export function showTheme(theme: Theme): void {
  document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme;
}

export function showLanguage(locale: string, dir: 'ltr' | 'rtl'): void {
  const page = document.documentElement;
  // To set an attribute, even to what it is, makes the browser style the page anew.
  if (page.lang !== locale) page.lang = locale;
  if (page.dir !== dir) page.dir = dir;
}

/** What the person has chosen here, else what the browser says. */
export function pageLocale(): string {
  const kept = keptLocale();
  return kept ? regional(kept) : chooseLocale(navigator.languages);
}

/** Dates as in the person's own country: `en` for somebody whose browser says `en-GB`. */
export function regional(language: string): string {
  return navigator.languages.find((each) => languageOf(each) === language) ?? language;
}
