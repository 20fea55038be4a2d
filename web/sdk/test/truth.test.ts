/** Whatever comes late, gets lost or dies: in the end the client knows what the server holds. */

import { test } from 'node:test';

import { runStories, Story } from './story.js';

test('whatever comes late or gets lost, the client knows in the end what the server holds', () =>
  runStories(40, (seed) => new Story(seed)));
