/** The design in one place. A host page may set any `--gr-…` property on an element or above it.
 *
 * Only elements that a page may hold by themselves have it; what is inside them inherits.
 */

import { css } from 'lit';

/** `light-dark()` follows the `color-scheme` of the page, or of the element's `theme`. */
export const tokens = css`
  :host {
    --_accent: var(--gr-accent, light-dark(#1f6f54, #6fcfa8));
    /* Black or white: at this lightness both have a contrast of 4.5. */
    --_on-accent: var(--gr-on-accent, lch(from var(--_accent) calc((49.44 - l) * infinity) 0 0));
    /* As letters it has to be read on every surface, also where the page gave one for both themes. */
    --_accent-text: light-dark(
      oklch(from var(--_accent) min(l, 0.5) c h),
      oklch(from var(--_accent) max(l, 0.74) c h)
    );
    --_accent-soft: var(
      --gr-accent-soft,
      light-dark(
        oklch(from var(--_accent) 0.95 min(c, 0.022) h),
        oklch(from var(--_accent) 0.295 min(c, 0.035) h)
      )
    );
    --_surface: var(--gr-surface, light-dark(#ffffff, #16181a));
    --_surface-raised: var(--gr-surface-raised, light-dark(#ffffff, #1e2124));
    --_surface-sunken: var(--gr-surface-sunken, light-dark(#f5f5f2, #101214));
    --_hover: var(--gr-hover, light-dark(#f0f0ec, #23272a));
    --_line: var(--gr-line, light-dark(#e4e4de, #2c3135));
    --_line-strong: var(--gr-line-strong, light-dark(#8a8d86, #7c848a));
    --_text: var(--gr-text, light-dark(#1b1d1c, #eceeec));
    --_text-quiet: var(--gr-text-quiet, light-dark(#5b605c, #a3aaa6));
    --_bubble: var(--gr-bubble, light-dark(#f1f1ed, #24282b));
    /* The accent's hue at a lightness of our own, so that any accent gives a pair that is readable. */
    --_bubble-own: var(
      --gr-bubble-own,
      light-dark(
        oklch(from var(--_accent) 0.93 min(c, 0.04) h),
        oklch(from var(--_accent) 0.365 min(c, 0.055) h)
      )
    );
    --_on-bubble-own: var(
      --gr-on-bubble-own,
      light-dark(
        oklch(from var(--_accent) 0.255 min(c, 0.04) h),
        oklch(from var(--_accent) 0.96 min(c, 0.015) h)
      )
    );
    --_danger: var(--gr-danger, light-dark(#b3261e, #f2a29b));
    --_on-danger: var(--gr-on-danger, light-dark(#ffffff, #3b0a07));
    --_danger-soft: var(--gr-danger-soft, light-dark(#fbeae8, #3a201e));
    --_notice: var(--gr-notice, light-dark(#7a5300, #f0c26a));
    --_notice-soft: var(--gr-notice-soft, light-dark(#fdf3dc, #352a14));
    --_live: var(--gr-live, light-dark(#2a8a5f, #5fc79a));
    --_shadow: 0 1px 2px rgb(0 0 0 / 8%), 0 8px 28px rgb(0 0 0 / 12%);

    --_font: var(
      --gr-font,
      system-ui,
      -apple-system,
      'Segoe UI',
      Roboto,
      'Helvetica Neue',
      'Noto Sans',
      sans-serif
    );
    --_size: var(--gr-font-size, 0.9375rem);
    --_size-small: calc(var(--_size) * 0.867);
    --_size-tiny: calc(var(--_size) * 0.8);
    --_size-large: calc(var(--_size) * 1.134);
    --_space: var(--gr-space, 0.25rem);
    --_radius: var(--gr-radius, 0.75rem);
    --_radius-small: calc(var(--_radius) * 0.667);
    --_radius-bubble: calc(var(--_radius) * 1.5);
    /* Round at both ends, unless the page wants corners. */
    --_radius-round: calc(var(--_radius) * 2);

    color-scheme: inherit;
    color: var(--_text);
    font-family: var(--_font);
    font-size: var(--_size);
    line-height: 1.45;
    -webkit-text-size-adjust: 100%;
  }

  :host([theme='light']) {
    color-scheme: light;
  }

  :host([theme='dark']) {
    color-scheme: dark;
  }
`;
