/** Parts of the web app that come when they are first needed. One that fails is asked for again. */

/** What draws files, and its words, so that both are there at once. */
export async function loadAttachments(locale: string): Promise<void> {
  const [, { prepareFileWords }] = await Promise.all([
    import('../files/attachments.ts'),
    import('../files/element.ts'),
  ]);
  await prepareFileWords(locale);
}

export const loadCards = (): Promise<unknown> => import('../cards/index.ts');
export const loadBookingHeader = (): Promise<unknown> => import('../cards/booking_header.ts');
export const loadNewCard = (): Promise<unknown> => import('../cards/new_card.ts');
export const loadPreferences = (): Promise<unknown> => import('../files/preferences.ts');
export const loadProofs = (): Promise<unknown> => import('../files/proofs.ts');
export const loadGallery = (): Promise<unknown> => import('../files/gallery.ts');
export const loadTray = (): Promise<unknown> => import('../files/tray.ts');
export const loadWorks = (): Promise<typeof import('../files/works.ts')> =>
  import('../files/works.ts');
