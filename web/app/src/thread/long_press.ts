/** A finger that stays where it is for a while: what a right click is to a mouse. */

const LONG_PRESS_MS = 450;
const STILL_PX = 8;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Told when the finger leaves: what opens before would be closed by that. Returns how to stop. */
export function onLongPress(
  element: HTMLElement,
  pressed: (path: readonly EventTarget[], at: Point) => void,
): () => void {
  const stop = new AbortController();
  let press: { path: EventTarget[]; at: Point; atMs: number } | null = null;
  const listen = (name: string, listener: (event: PointerEvent) => void): void =>
    element.addEventListener(name, listener as EventListener, { signal: stop.signal });
  listen('pointerdown', (event) => {
    const at = { x: event.clientX, y: event.clientY };
    const isMouse = event.pointerType === 'mouse';
    press = isMouse ? null : { path: event.composedPath(), at, atMs: event.timeStamp };
  });
  listen('pointermove', ({ clientX, clientY }) => {
    if (press && Math.hypot(clientX - press.at.x, clientY - press.at.y) > STILL_PX) press = null;
  });
  listen('pointercancel', () => (press = null));
  listen('pointerup', ({ timeStamp }) => {
    if (press && timeStamp - press.atMs >= LONG_PRESS_MS) pressed(press.path, press.at);
    press = null;
  });
  return () => stop.abort();
}
