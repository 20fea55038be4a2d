import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Problem } from '../src/problem.js';
import { readClaims, Tokens } from '../src/tokens.js';
import { FakeClock, jwt, START_MS } from './fakes.js';

function endingIn(seconds: number, clock: FakeClock): string {
  return jwt({ sub: 'ben', exp: Math.floor(clock.now() / 1000) + seconds, at: clock.now() });
}

test('claims are read from a token, and none from what is no token', () => {
  assert.deepEqual(readClaims(jwt({ sub: 'ben.é?>', exp: 7 })).exp, 7);
  assert.deepEqual(readClaims('opaque'), {});
});

test('a token is asked for once, by however many at a time', async () => {
  const clock = new FakeClock();
  let asked = 0;
  const tokens = new Tokens(() => Promise.resolve(`${(asked += 1)}`), clock);
  assert.deepEqual(await Promise.all([tokens.get(), tokens.get(), tokens.fresh()]), [
    '1',
    '1',
    '1',
  ]);
  assert.equal(await tokens.get(), '1');
});

test('a token is renewed a minute before it ends', async () => {
  const clock = new FakeClock();
  const tokens = new Tokens(() => endingIn(600, clock), clock);
  const first = await tokens.get();
  assert.equal(tokens.renewAtMs, START_MS + 540_000);
  await clock.advance(539_999);
  assert.equal(await tokens.get(), first);
  await clock.advance(1);
  assert.notEqual(await tokens.get(), first);
});

test('a short token is renewed after four fifths of its life', async () => {
  const clock = new FakeClock();
  const tokens = new Tokens(() => endingIn(100, clock), clock);
  await tokens.get();
  assert.equal(tokens.renewAtMs, START_MS + 80_000);
});

test('while no new token can be had the old one is used to its end', async () => {
  const clock = new FakeClock();
  let isDown = false;
  const tokens = new Tokens(() => {
    if (isDown) throw new Error('no network');
    return endingIn(600, clock);
  }, clock);
  const first = await tokens.get();
  isDown = true;
  await clock.advance(590_000);
  assert.equal(await tokens.get(), first);
  await clock.advance(10_000);
  await assert.rejects(tokens.get(), { status: 0 });
});

test('a clock that is wrong does not make it ask for a token with every call', async () => {
  const clock = new FakeClock();
  let asked = 0;
  const tokens = new Tokens(() => {
    asked += 1;
    return endingIn(-3600, clock);
  }, clock);
  await tokens.get();
  await tokens.get();
  assert.deepEqual([asked, tokens.renewAtMs], [1, Infinity]);
});

test('a site that has no token for its visitor is told apart from one that is away', async () => {
  const asked = async (status: number): Promise<Problem> => {
    const tokens = new Tokens(() => Promise.reject(Problem.noToken(status)), new FakeClock());
    return tokens.get().then(
      () => assert.fail('there is no token'),
      (error: unknown) => error as Problem,
    );
  };
  assert.deepEqual(
    [(await asked(401)).status, (await asked(403)).status, (await asked(502)).status],
    [401, 401, 0],
  );
  assert.ok((await asked(401)).isTransient);
});
