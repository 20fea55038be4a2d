/** Keeps the foot of an element above the software keyboard.
 *
 * Pages that ask for `interactive-widget=resizes-content` shrink by themselves. In others the
 * keyboard lies over the page, and only the visual viewport tells. */

const LOWEST_KEYBOARD_PX = 80;

/** Returns how to stop. */
export function keepAboveKeyboard(host: HTMLElement, frame: () => HTMLElement | null): () => void {
  const viewport = window.visualViewport;
  if (!viewport) return () => {};
  const fit = (): void => {
    const isZoomed = viewport.scale > 1.01;
    const isOpen = window.innerHeight - viewport.height > LOWEST_KEYBOARD_PX;
    const isWriting = host.matches(':focus-within');
    const visibleEndPx = viewport.offsetTop + viewport.height;
    const coveredPx = host.getBoundingClientRect().bottom - visibleEndPx;
    const roomPx = isOpen && isWriting && !isZoomed ? Math.max(0, coveredPx) : 0;
    frame()?.style.setProperty('padding-block-end', `${roomPx}px`);
  };
  viewport.addEventListener('resize', fit);
  viewport.addEventListener('scroll', fit);
  host.addEventListener('focusout', fit);
  return () => {
    viewport.removeEventListener('resize', fit);
    viewport.removeEventListener('scroll', fit);
    host.removeEventListener('focusout', fit);
  };
}
