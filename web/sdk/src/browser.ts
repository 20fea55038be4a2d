/** What a page tells the client by itself: whether it is looked at, used, and online. */

import type { Greenroom } from './client.js';

/** Returns how to stop. */
export function followPage(client: Greenroom): () => void {
  const looked = (): void => client.setVisibility(document.hidden ? 'background' : 'open');
  const used = (): void => client.touch();
  const online = (): void => client.retryNow();
  const offline = (): void => client.networkLost();
  document.addEventListener('visibilitychange', looked);
  document.addEventListener('pointerdown', used);
  document.addEventListener('keydown', used);
  window.addEventListener('online', online);
  window.addEventListener('offline', offline);
  looked();
  return () => {
    document.removeEventListener('visibilitychange', looked);
    document.removeEventListener('pointerdown', used);
    document.removeEventListener('keydown', used);
    window.removeEventListener('online', online);
    window.removeEventListener('offline', offline);
  };
}
