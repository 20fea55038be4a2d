/** Languages. English is built in; another one is loaded when somebody reads it. */

import { en } from './en/index.ts';

/** A language has the shape of the English words: the compiler finds what is missing. */
export type Words = { readonly [Name in keyof typeof en]: Room<(typeof en)[Name]> };

export type Room<English> = {
  readonly [Key in keyof English]: English[Key] extends string ? string : English[Key];
};

const languages: Record<string, () => Promise<Words>> = {
  en: () => Promise.resolve(en),
  de: () => import('./de/index.ts').then(({ de }) => de),
};

const RIGHT_TO_LEFT = new Set(['ar', 'dv', 'fa', 'he', 'ps', 'sd', 'ug', 'ur', 'yi']);

export const LOCALES: readonly string[] = Object.keys(languages);
export const english: Words = en;

/** The first language of those wanted that there is, as the person wrote it: `de-AT` keeps its dates. */
export function chooseLocale(wanted: readonly string[]): string {
  return wanted.find((locale) => languageOf(locale) in languages) ?? 'en';
}

export function loadWords(locale: string): Promise<Words> {
  return languages[languageOf(locale)]?.() ?? Promise.resolve(en);
}

export function languageOf(locale: string): string {
  return locale.toLowerCase().split('-')[0] ?? 'en';
}

export function directionOf(locale: string): 'ltr' | 'rtl' {
  return RIGHT_TO_LEFT.has(languageOf(locale)) ? 'rtl' : 'ltr';
}
