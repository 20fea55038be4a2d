import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  bearing,
  coordinates,
  directionOf,
  distanceM,
  distanceText,
} from '../src/cards/geography.ts';

const leeds = { lat: 53.7936, lon: -1.5495 };
const london = { lat: 51.5246, lon: -0.0335 };
const plain = (text: string): string => text.replace(/\s/gu, ' ');

test('the way between two cities has its length and direction', () => {
  assert.equal(Math.round(distanceM(leeds, london) / 1_000), 272);
  assert.equal(distanceM(leeds, london), distanceM(london, leeds));
  assert.equal(directionOf(leeds, london), 'se');
  assert.equal(directionOf(london, leeds), 'n');
  assert.equal(Math.round(bearing({ lat: 0, lon: 0 }, { lat: 0, lon: 1 })), 90);
  assert.equal(directionOf({ lat: 0, lon: 179.9 }, { lat: 0, lon: -179.9 }), 'e', 'over the edge');
});

test('what is where one stands has no direction', () => {
  assert.equal(directionOf(leeds, { lat: 53.79362, lon: -1.5495 }), null);
  assert.equal(distanceM(leeds, leeds), 0);
});

test('a distance has the units of its readers and few digits', () => {
  const said = (metres: number, locale: string): string => plain(distanceText(metres, locale));
  assert.equal(said(4, 'de-DE'), '10 m');
  assert.equal(said(648, 'de-DE'), '650 m');
  assert.equal(said(1_234, 'de-DE'), '1,2 km');
  assert.equal(said(272_400, 'en-IE'), '272 km');
  assert.equal(said(1_234, 'en-US'), '0.8 mi');
});

test('coordinates are read with their sides', () => {
  assert.equal(coordinates(leeds, 'en-GB'), '53.7936° N, 1.5495° W');
  assert.equal(coordinates({ lat: -33.8688, lon: 151.2093 }, 'en-GB'), '33.8688° S, 151.2093° E');
});
