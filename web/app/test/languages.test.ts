import assert from 'node:assert/strict';
import { test } from 'node:test';

import { loadFileWords } from '../src/i18n/files.ts';
import { chooseLocale, directionOf, loadWords, LOCALES } from '../src/i18n/index.ts';
import { loadHistoryWords } from '../src/i18n/history.ts';
import { loadPanelWords } from '../src/i18n/panel.ts';
import { loadPlaceWords } from '../src/i18n/place.ts';
import { loadShellWords } from '../src/i18n/shell.ts';
import { plurals } from '../src/i18n/plural.ts';
import { loadStartWords } from '../src/i18n/start.ts';

/** Words of the panel and of a first message come with them, those of our own pages with these. */
const everything = async (locale: string) => ({
  ...(await loadWords(locale)),
  files: await loadFileWords(locale),
  history: await loadHistoryWords(locale),
  place: await loadPlaceWords(locale),
  panel: await loadPanelWords(locale),
  shell: await loadShellWords(locale),
  start: await loadStartWords(locale),
});

test('every language has words for everything, and says it in its own', async () => {
  for (const locale of LOCALES) {
    const words = await everything(locale);
    for (const [room, texts] of Object.entries(await everything('en'))) {
      const theirs = words[room as keyof typeof words] as Record<string, unknown>;
      for (const [key, text] of Object.entries(texts)) {
        const where = `${locale} ${room}.${key}`;
        assert.equal(typeof theirs[key], typeof text, where);
        if (typeof text === 'string') assert.ok(theirs[key], where);
      }
      assert.deepEqual(Object.keys(theirs).sort(), Object.keys(texts).sort(), `${locale} ${room}`);
    }
  }
});

test('the first language that there is wins, with the reader’s own dates', () => {
  assert.equal(chooseLocale(['fr-CH', 'de-CH', 'en']), 'de-CH');
  assert.equal(chooseLocale(['fr']), 'en');
  assert.equal(chooseLocale([]), 'en');
});

test('a language that runs from right to left is known by its name', () => {
  assert.deepEqual(['ar-EG', 'he', 'de', 'en'].map(directionOf), ['rtl', 'rtl', 'ltr', 'ltr']);
});

test('numbers choose their form by the rules of the language', () => {
  const forms = { one: 'one', few: 'few', many: 'many', other: 'other' };
  assert.deepEqual(
    [0, 1, 2].map((n) => plurals('en')(n, forms)),
    ['other', 'one', 'other'],
  );
  assert.deepEqual(
    [1, 2, 5].map((n) => plurals('pl')(n, forms)),
    ['one', 'few', 'many'],
  );
  assert.equal(plurals('pl')(2, { one: 'one', other: 'other' }), 'other');
});
