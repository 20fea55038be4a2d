import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Format, fractionDigits } from '../src/i18n/format.ts';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const english = new Format('en-GB', 'Europe/London', () => NOW);
const german = new Format('de', 'Europe/Berlin', () => NOW);

test('a list says how long ago, then the time, the weekday, the date', () => {
  const short = (at: string): string => english.short(at, NOW);
  assert.equal(short('2026-11-16T11:59:40Z'), 'now');
  assert.match(short('2026-11-16T11:58:00Z'), /^2\s?min/u);
  assert.equal(german.short('2026-11-16T11:58:00Z', NOW), 'vor 2 Min.', 'not two metres');
  assert.equal(short('2026-11-16T09:05:00Z'), '09:05');
  assert.equal(short('2026-11-14T09:05:00Z'), 'Sat');
  assert.equal(short('2026-11-03T09:05:00Z'), '3 Nov');
  assert.equal(short('2025-11-03T09:05:00Z'), '3 Nov 2025');
});

test('a clock that runs behind the server shows nothing from the future', () => {
  assert.equal(english.short('2026-11-16T12:00:30Z', NOW), 'now');
});

test('days are those of the reader, not of the server', () => {
  assert.equal(english.dayKey('2026-11-16T23:30:00Z'), '2026-11-16');
  assert.equal(german.dayKey('2026-11-16T23:30:00Z'), '2026-11-17');
  assert.equal(english.day('2026-11-16T08:00:00Z', NOW), 'Today');
  assert.equal(german.day('2026-11-15T08:00:00Z', NOW), 'Gestern');
  assert.equal(english.day('2026-11-12T08:00:00Z', NOW), 'Thursday');
  assert.match(english.day('2026-11-02T08:00:00Z', NOW), /^Monday,? 2 November$/u);
  assert.match(english.day('2025-11-02T08:00:00Z', NOW), /2 November 2025/u);
});

test('money has the digits of its currency and the signs of the language', () => {
  assert.equal(english.money({ amount_cents: 9150, currency: 'GBP' }), '£91.50');
  assert.equal(
    german.money({ amount_cents: 123456, currency: 'EUR' }).replace(/\s/gu, ' '),
    '1.234,56 €',
  );
  assert.equal(new Format('en').money({ amount_cents: 500, currency: 'JPY' }), '¥500');
  assert.deepEqual([fractionDigits('EUR'), fractionDigits('JPY')], [2, 0]);
});

test('what is left is told in its two largest parts', () => {
  const left = (until: string): string => english.left(until, NOW).replace(/\s/gu, ' ');
  assert.equal(left('2026-11-18T16:30:00Z'), '2 days 4 hrs');
  assert.equal(left('2026-11-16T15:20:00Z'), '3 hrs 20 mins');
  assert.equal(left('2026-11-16T12:45:10Z'), '45 mins');
  assert.equal(left('2026-11-16T12:00:09Z'), '9 secs');
  assert.equal(left('2026-11-16T11:00:00Z'), '0 secs');
});

test('a range is told once per day and in the zone that is asked for', () => {
  const range = (zone?: string): string =>
    english.range('2026-11-21T10:00:00Z', '2026-11-21T14:00:00Z', zone).replace(/\s/gu, ' ');
  assert.match(range(), /21 Nov.*10:00.*14:00/u);
  const early = '2026-11-21T09:05:00Z';
  assert.match(english.range(early, early), /21 Nov, 09:05$/u);
  assert.match(new Format('en-US', 'UTC', () => NOW).range(early, early), /Nov 21, 9:05\sAM$/u);
  assert.match(range('Europe/Berlin'), /21 Nov.*11:00.*15:00/u);
});
