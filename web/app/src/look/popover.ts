/** What opens over the page beside its button: how it looks, and where it stands. */

import { css } from 'lit';

const EDGE_PX = 8;
const GAP_PX = 4;

export const popover = css`
  .sheet {
    background: var(--_surface-raised);
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    box-shadow: var(--_shadow);
    color: inherit;
    inset: auto;
    margin: 0;
    max-block-size: calc(100dvh - 1rem);
    outline: none;
    overflow-y: auto;
    overscroll-behavior: contain;
    padding: calc(var(--_space) * 4);
    position: fixed;
    /* On top it is anyway; this is for checkers that do not know popovers. */
    z-index: 1;
  }
`;

const ON_TOP = 'dialog[open], [popover]:popover-open';

/** Whether it happened in what lies over the page, which has keys of its own. */
export function isOnTop(event: Event): boolean {
  return event.composedPath().some((each) => each instanceof Element && each.matches(ON_TOP));
}

/** The side of the anchor along which it stands. */
export type Side = 'start' | 'end';

/** Below its anchor, or above where there is no room; never outside the window. */
export function placeBeside(anchor: DOMRect, sheet: HTMLElement, side: Side = 'end'): void {
  const { width, height } = sheet.getBoundingClientRect();
  const isRtl = getComputedStyle(sheet).direction === 'rtl';
  const isLeft = (side === 'start') !== isRtl;
  const wanted = isLeft ? anchor.left : anchor.right - width;
  const left = Math.min(Math.max(EDGE_PX, wanted), innerWidth - width - EDGE_PX);
  const fitsBelow = anchor.bottom + GAP_PX + height + EDGE_PX <= innerHeight;
  const top = fitsBelow ? anchor.bottom + GAP_PX : anchor.top - height - GAP_PX;
  sheet.style.left = `${left}px`;
  sheet.style.top = `${Math.max(EDGE_PX, top)}px`;
}
