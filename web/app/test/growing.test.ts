import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isSendKey } from '../src/thread/growing_textarea.ts';

type Press = Partial<Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'isComposing'>>;

function sends(pointer: 'fine' | 'coarse' | 'none', press: Press = {}): boolean {
  const matches = (query: string): boolean => query === `(pointer: ${pointer})`;
  Object.assign(globalThis, { matchMedia: (query: string) => ({ matches: matches(query) }) });
  const keys = { shiftKey: false, altKey: false, ctrlKey: false, metaKey: false };
  return isSendKey({ key: 'Enter', isComposing: false, ...keys, ...press } as KeyboardEvent);
}

test('Enter sends with a mouse and without any, and makes a line under a finger', () => {
  assert.deepEqual([sends('fine'), sends('none'), sends('coarse')], [true, true, false]);
});

test('Control and Enter always send, Shift and Enter never', () => {
  for (const pointer of ['fine', 'none', 'coarse'] as const) {
    assert.ok(sends(pointer, { ctrlKey: true }));
    assert.ok(!sends(pointer, { shiftKey: true }));
  }
});

test('Enter that chooses a character while composing does not send', () => {
  assert.ok(!sends('fine', { isComposing: true }));
  assert.ok(!sends('fine', { key: 'a' }));
});
