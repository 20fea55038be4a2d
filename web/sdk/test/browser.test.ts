import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';

import { followPage } from '../src/browser.js';
import type { Greenroom } from '../src/client.js';
import { browserStorage } from '../src/storage.js';

/** A browser's globals, for one test. */
function given(t: TestContext, values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    t.after(() => {
      if (before) Object.defineProperty(globalThis, name, before);
      else Reflect.deleteProperty(globalThis, name);
    });
  }
}

class FakeLocks {
  readonly held = new Set<string>();

  async request(
    name: string,
    _options: object,
    use: (lock: object | null) => Promise<unknown> | undefined,
  ): Promise<void> {
    if (this.held.has(name)) return void use(null);
    this.held.add(name);
    await use({ name });
  }
}

test('each tab has a compartment, and the next one takes up what a closed one left', async (t) => {
  const items = new Map<string, string>();
  const locks = new FakeLocks();
  const localStorage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, text: string) => void items.set(key, text),
    removeItem: (key: string) => void items.delete(key),
  };
  given(t, { navigator: { locks }, localStorage });
  const [one, two] = [await browserStorage(), await browserStorage()];
  await one.set('feed', 'of the first tab');
  assert.equal(await two.get('feed'), null);
  locks.held.delete('greenroom.0');
  const three = await browserStorage();
  assert.equal(await three.get('feed'), 'of the first tab');
});

test('a page tells by itself whether it is looked at, used and online', (t) => {
  const page = Object.assign(new EventTarget(), { hidden: false });
  const view = new EventTarget();
  given(t, { document: page, window: view });
  const told: string[] = [];
  const client = {
    setVisibility: (visibility: string) => void told.push(visibility),
    touch: () => void told.push('touch'),
    retryNow: () => void told.push('retry'),
    networkLost: () => void told.push('lost'),
  };
  const stop = followPage(client as unknown as Greenroom);
  page.hidden = true;
  page.dispatchEvent(new Event('visibilitychange'));
  page.dispatchEvent(new Event('keydown'));
  page.dispatchEvent(new Event('pointerdown'));
  view.dispatchEvent(new Event('offline'));
  view.dispatchEvent(new Event('online'));
  assert.deepEqual(told, ['open', 'background', 'touch', 'touch', 'lost', 'retry']);
  stop();
  page.dispatchEvent(new Event('keydown'));
  view.dispatchEvent(new Event('offline'));
  view.dispatchEvent(new Event('online'));
  assert.equal(told.length, 6);
});
