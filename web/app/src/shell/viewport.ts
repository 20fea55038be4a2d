/** Keeps the page in what can be seen of the window, so that a software keyboard covers nothing. */

/** Sets `--app-height` and `--app-top` on the element. Returns how to stop. */
export function followViewport(element: HTMLElement): () => void {
  const viewport = window.visualViewport;
  if (!viewport) return () => {};
  const fit = (): void => {
    // Somebody who zooms in wants the page larger, not squeezed into the window.
    const isZoomed = viewport.scale > 1.05;
    const isCovered = !isZoomed && innerHeight - viewport.height > 1;
    element.style.setProperty('--app-height', isCovered ? `${viewport.height}px` : '100dvh');
    element.style.setProperty('--app-top', isCovered ? `${viewport.offsetTop}px` : '0px');
  };
  viewport.addEventListener('resize', fit);
  viewport.addEventListener('scroll', fit);
  fit();
  return () => {
    viewport.removeEventListener('resize', fit);
    viewport.removeEventListener('scroll', fit);
  };
}
