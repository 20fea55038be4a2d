import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ScrollKeeper } from '../src/thread/scroll_keeper.ts';

/** A box that scrolls as browsers let it: what is too far is cut off, and told of later. */
class Box extends EventTarget {
  clientHeight = 600;
  #heightPx = 0;
  #topPx = 0;

  get scrollHeight(): number {
    return this.#heightPx;
  }

  set scrollHeight(heightPx: number) {
    this.#heightPx = heightPx;
    this.scrollTop = this.#topPx;
  }

  get scrollTop(): number {
    return this.#topPx;
  }

  set scrollTop(topPx: number) {
    this.#topPx = Math.max(0, Math.min(topPx, this.#heightPx - this.clientHeight));
  }

  get distancePx(): number {
    return this.#heightPx - this.clientHeight - this.#topPx;
  }

  getBoundingClientRect(): { top: number; bottom: number } {
    return { top: 0, bottom: this.clientHeight };
  }

  querySelectorAll(): [] {
    return [];
  }
}

class NoObserver {
  observe(): void {}
  disconnect(): void {}
}

function atEndOf(heightPx: number): { box: Box; keeper: ScrollKeeper } {
  Object.assign(globalThis, { ResizeObserver: NoObserver });
  const box = new Box();
  const element = box as unknown as HTMLElement;
  const keeper = new ScrollKeeper(element, element, () => {});
  box.scrollHeight = heightPx;
  keeper.settle();
  assert.equal(box.distancePx, 0);
  return { box, keeper };
}

test('another thread opens at its end though it grows before the browser tells of the change', () => {
  const { box, keeper } = atEndOf(2000);
  box.dispatchEvent(new Event('wheel'));
  keeper.startAnew();
  box.scrollHeight = 600;
  box.scrollHeight = 1023;
  box.dispatchEvent(new Event('scroll'));
  keeper.settle();
  assert.deepEqual([keeper.sticks, box.distancePx], [true, 0]);
  box.scrollHeight = 1500;
  keeper.settle();
  assert.equal(box.distancePx, 0);
});

test('content that is drawn anew, shorter for a moment, stays at its end', () => {
  const { box, keeper } = atEndOf(2000);
  box.scrollHeight = 900;
  box.scrollHeight = 1800;
  box.dispatchEvent(new Event('scroll'));
  keeper.settle();
  assert.deepEqual([keeper.sticks, box.distancePx], [true, 0]);
});

test('whoever scrolls up is let go', () => {
  const { box, keeper } = atEndOf(2000);
  box.dispatchEvent(new Event('wheel'));
  box.scrollTop -= 40;
  box.dispatchEvent(new Event('scroll'));
  keeper.settle();
  assert.deepEqual([keeper.sticks, box.distancePx], [false, 40]);
});
