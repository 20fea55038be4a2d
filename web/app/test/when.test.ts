import assert from 'node:assert/strict';
import { test } from 'node:test';

import { de } from '../src/i18n/de/index.ts';
import { en } from '../src/i18n/en/index.ts';
import { Format } from '../src/i18n/format.ts';
import { untilOf, whenOf, whenText } from '../src/i18n/when.ts';
import { zoneName } from '../src/i18n/zones.ts';

const START = '2027-06-06T08:00:00Z';
const END = '2027-06-06T18:00:00Z';
const NOW = Date.parse('2027-02-18T01:00:00Z');
const plain = (text: string | null): string => (text ?? 'none').replace(/\s/gu, ' ');

test('the time of the event comes first, with its zone, and the own one says whose it is', () => {
  const when = whenOf(
    new Format('en-US', 'America/New_York', () => NOW),
    START,
    END,
    'Europe/Berlin',
  );
  assert.equal(plain(when.event), 'Sun, Jun 6, 10:00 AM – 8:00 PM');
  assert.equal(when.zone, 'Berlin');
  assert.equal(plain(when.yours), '4:00 AM – 2:00 PM');
  assert.equal(
    plain(whenText(en.cards, when)),
    'Sun, Jun 6, 10:00 AM – 8:00 PM · Berlin time · Your time: 4:00 AM – 2:00 PM',
  );
});

test('the own time has its day where that is another', () => {
  const when = whenOf(new Format('en-US', 'Asia/Tokyo', () => NOW), START, END, 'Europe/Berlin');
  assert.match(plain(when.yours), /^Sun, Jun 6, 5:00 PM – Mon, Jun 7, 3:00 AM$/u);
});

test('where clocks show the same, one time is enough', () => {
  const one = { zone: null, yours: null };
  const paris = new Format('en-US', 'Europe/Paris', () => NOW);
  const { event, ...rest } = whenOf(paris, START, END, 'Europe/Berlin');
  assert.deepEqual(rest, one);
  assert.equal(plain(event), 'Sun, Jun 6, 10:00 AM – 8:00 PM');
  assert.deepEqual(whenOf(paris, START, END, 'Mars/Olympus'), { event, ...one });
  assert.deepEqual(whenOf(paris, START, END, undefined), { event, ...one });
});

test('another year is said', () => {
  const before = new Format('en-US', 'Europe/Berlin', () => Date.parse('2026-11-18T05:00:00Z'));
  assert.equal(
    plain(whenOf(before, START, END, null).event),
    'Sun, Jun 6, 2027, 10:00 AM – 8:00 PM',
  );
});

test('what is far away has a date, what is near is counted', () => {
  const format = new Format('en-US', 'Europe/Berlin', () => NOW);
  const said = (at: string): string => plain(en.cards.timers.leg_starts(untilOf(format, at, NOW)));
  assert.equal(said(START), 'Starts on Sun, Jun 6');
  assert.equal(said('2028-06-06T08:00:00Z'), 'Starts on Tue, Jun 6, 2028');
  assert.equal(said('2027-02-20T05:00:00Z'), 'Starts in 2 days 4 hr');
  const due = untilOf(format, '2027-02-25T01:00:00Z', NOW);
  assert.equal(plain(en.cards.answerWithin(due)), 'Answer by Thu, Feb 25');
  assert.match(
    de.cards.answerWithin(untilOf(new Format('de', 'Europe/Berlin', () => NOW), START, NOW)),
    /^Antworten Sie bis So., 6. Juni$/u,
  );
});

test('a zone is called by its place', () => {
  assert.equal(zoneName('America/New_York'), 'New York');
  assert.equal(zoneName('America/Argentina/Buenos_Aires'), 'Buenos Aires');
  assert.equal(zoneName('UTC'), 'UTC');
});
