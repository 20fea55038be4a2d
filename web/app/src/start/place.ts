/** Where a page shows conversations, so that a new one opens there. */

import type { GreenroomMessages } from '../messages/messages.ts';
import { focused } from '../look/focused.ts';
import type { GreenroomThread } from '../thread/thread.ts';

const SHOWS = ['greenroom-messages', 'greenroom-inbox[for]', 'greenroom-thread'];

/** Of what the page holds, the one that does most; null where it holds none. */
export function placeIn(root: ParentNode = document): HTMLElement | null {
  for (const selector of SHOWS) {
    const found = findIn(root, selector);
    if (found) return found;
  }
  return null;
}

/** Our own pages have it in the shadow of their elements. */
function findIn(root: ParentNode, selector: string): HTMLElement | null {
  const found = root.querySelector<HTMLElement>(selector);
  if (found) return found;
  for (const { shadowRoot } of root.querySelectorAll('*')) {
    const inside = shadowRoot && findIn(shadowRoot, selector);
    if (inside) return inside;
  }
  return null;
}

/** Tells the page, and shows it where conversations are shown. False where the page has no such
 * place and has not said that it does it itself. */
export function openThread(threadId: string): boolean {
  const place = placeIn();
  // Where nothing has the focus, the conversation takes it.
  if (place) focused()?.blur();
  const open = new CustomEvent('greenroom-open', {
    detail: { threadId },
    bubbles: true,
    composed: true,
    cancelable: true,
  });
  const isLeft = (place ?? document.body).dispatchEvent(open);
  if (place?.localName === 'greenroom-thread' && isLeft) {
    (place as GreenroomThread).threadId = threadId;
    place.focus();
  }
  return place !== null || !isLeft;
}

/** What the dialog stands in: it looks as what is around it. What cannot be seen shows no dialog. */
export function hostFor(host: Element | null): ParentNode {
  const isSeen = host?.checkVisibility({ visibilityProperty: true });
  return (isSeen ? (host as GreenroomMessages).shadowRoot : null) ?? document.body;
}
