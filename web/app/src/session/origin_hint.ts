/** Tells a developer why nothing loads where the server does not allow the page's site. Browsers do
 * not tell scripts; the people who visit see only that the server does not answer. */

/** Once, when the first connection has failed. */
export async function hintAtOrigin(server: string): Promise<void> {
  const { origin } = location;
  if (new URL(server).origin === origin) return;
  const answers = (mode: RequestMode): Promise<boolean> =>
    fetch(`${server}healthz`, { mode, cache: 'no-store' }).then(
      () => true,
      () => false,
    );
  if ((await answers('cors')) || !(await answers('no-cors'))) return;
  console.warn(
    `Greenroom: ${server} answers, but not to pages of ${origin}. ` +
      `Add it on the server: GREENROOM_ALLOWED_ORIGINS=${origin}`,
  );
}
