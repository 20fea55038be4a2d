/** Says things to screen readers, politely, from one live region per page. */

let region: HTMLElement | null = null;

/** Made early: a region that appears together with its text is often not read. */
export function prepareAnnouncer(): void {
  if (region?.isConnected) return;
  region = document.createElement('div');
  region.setAttribute('role', 'status');
  region.setAttribute('aria-live', 'polite');
  const hidden = { position: 'absolute', inlineSize: '1px', blockSize: '1px', overflow: 'hidden' };
  Object.assign(region.style, { ...hidden, clipPath: 'inset(50%)', whiteSpace: 'nowrap' });
  document.body.append(region);
}

export function announce(text: string): void {
  prepareAnnouncer();
  if (!region) return;
  const line = document.createElement('p');
  line.textContent = text;
  // The same words twice are two messages, so a new line is added, and only a few are kept.
  region.append(line);
  while (region.childElementCount > 5) region.firstElementChild?.remove();
}
