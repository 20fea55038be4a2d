/** How cards look. */

import { css } from 'lit';

export const chip = css`
  .chip {
    --_tone: var(--_text-quiet);
    align-items: center;
    background: var(--_tone-soft, var(--_hover));
    border-radius: var(--_radius-round);
    color: var(--_tone);
    display: inline-flex;
    font-size: var(--_size-tiny);
    font-weight: 600;
    gap: var(--_space);
    line-height: 1.3;
    overflow-wrap: normal;
    padding: calc(var(--_space) * 0.75) calc(var(--_space) * 2.25);
  }

  .chip svg.icon {
    block-size: 1.1em;
    inline-size: 1.1em;
    stroke-width: 2.2;
  }

  .chip.yours {
    --_tone: var(--_notice);
    --_tone-soft: var(--_notice-soft);
  }

  .chip.good {
    --_tone: var(--_accent-text);
    --_tone-soft: var(--_accent-soft);
  }

  .chip.bad {
    --_tone: var(--_danger);
    --_tone-soft: var(--_danger-soft);
  }

  .chip.running {
    --_tone: var(--_accent-text);
  }

  @media (forced-colors: active) {
    .chip {
      border: 1px solid;
    }
  }

  .spinner {
    block-size: 1em;
    border: 2px solid color-mix(in oklab, currentcolor 30%, transparent);
    border-block-start-color: currentcolor;
    border-radius: 50%;
    display: inline-block;
    flex: none;
    inline-size: 1em;
  }

  @media (prefers-reduced-motion: no-preference) {
    .spinner {
      animation: turn 0.9s linear infinite;
    }

    @keyframes turn {
      to {
        transform: rotate(1turn);
      }
    }
  }
`;

export const cardLook = css`
  :host {
    container-type: inline-size;
    display: block;
    inline-size: 100%;
    max-inline-size: 26rem;
  }

  section {
    background: var(--_surface-raised);
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 3);
    overflow-wrap: anywhere;
    padding: calc(var(--_space) * 4);
    text-align: start;
  }

  h3,
  p,
  dl,
  dd,
  ul,
  ol {
    margin: 0;
    padding: 0;
  }

  ul,
  ol {
    list-style: none;
  }

  a {
    color: var(--_accent-text);
    text-underline-offset: 0.2em;
  }

  .top {
    display: grid;
    gap: 0 calc(var(--_space) * 3);
    grid-template-columns: auto 1fr auto;
  }

  .top .sign {
    align-items: center;
    background: var(--_accent-soft);
    block-size: 2.25rem;
    border-radius: var(--_radius-small);
    color: var(--_accent-text);
    display: flex;
    grid-row: span 2;
    inline-size: 2.25rem;
    justify-content: center;
  }

  h3 {
    font-size: var(--_size);
    font-weight: 650;
    line-height: 1.3;
  }

  .top .quiet {
    grid-column: 2;
  }

  .top .past {
    grid-column: 3;
    grid-row: 1 / span 2;
    margin-block: calc(var(--_space) * -1);
    margin-inline-end: calc(var(--_space) * -2);
  }

  .standing {
    align-items: center;
    display: flex;
    flex-wrap: wrap;
    gap: calc(var(--_space) * 1.5) calc(var(--_space) * 2.5);
  }

  .facts {
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 2.5);
  }

  /* A letter under a hundred accents is as wide as it likes, and cannot be broken. */
  .facts > *,
  .lines > li > :first-child {
    min-inline-size: 0;
    overflow-x: clip;
    overflow-clip-margin: 4px;
  }

  .main {
    font-size: var(--_size-large);
    font-weight: 600;
    line-height: 1.35;
  }

  dl.rows {
    display: grid;
    gap: calc(var(--_space) * 1.5) calc(var(--_space) * 3);
    grid-template-columns: minmax(5.5rem, max-content) 1fr;
  }

  dl.rows dl.rows {
    grid-column: 1 / -1;
    padding-inline-start: calc(var(--_space) * 3);
  }

  dt {
    color: var(--_text-quiet);
    font-size: var(--_size-small);
  }

  .says {
    border-inline-start: 2px solid var(--_line);
    padding-inline-start: calc(var(--_space) * 2.5);
    white-space: pre-line;
  }

  .lines > li {
    align-items: baseline;
    display: flex;
    gap: calc(var(--_space) * 3);
    justify-content: space-between;
    padding-block: calc(var(--_space) * 1.25);
  }

  .lines > li + li {
    border-block-start: 1px solid var(--_line);
  }

  .lines .chip {
    flex: none;
  }

  .lines .sum,
  .total .sum,
  .watch {
    font-variant-numeric: tabular-nums;
    white-space: nowrap;
  }

  .total {
    align-items: baseline;
    border-block-start: 1px solid var(--_line-strong);
    display: flex;
    font-weight: 650;
    gap: calc(var(--_space) * 3);
    justify-content: space-between;
    padding-block-start: calc(var(--_space) * 2);
  }

  .total.alone {
    border: 0;
    padding: 0;
  }

  .watch {
    font-size: 1.75rem;
    font-weight: 600;
    line-height: 1.2;
  }

  .struck {
    text-decoration: line-through;
  }

  .hash {
    font-family: ui-monospace, SFMono-Regular, Menlo, monospace;
    font-size: var(--_size-tiny);
  }

  details summary {
    align-items: center;
    border-radius: var(--_radius-small);
    color: var(--_accent-text);
    cursor: pointer;
    display: inline-flex;
    font-weight: 500;
    gap: calc(var(--_space) * 1.5);
    list-style: none;
    min-block-size: 1.75rem;
  }

  details summary::-webkit-details-marker {
    display: none;
  }

  .linked {
    align-items: center;
    display: inline-flex;
    gap: calc(var(--_space) * 1.5);
    min-block-size: 1.75rem;
  }

  .box {
    background: var(--_surface-sunken);
    border-radius: var(--_radius-small);
    padding: calc(var(--_space) * 2.5) calc(var(--_space) * 3);
  }

  .settling {
    align-items: center;
    color: var(--_text-quiet);
    display: flex;
    gap: calc(var(--_space) * 2.5);
  }

  .told {
    background: var(--_notice-soft);
    border-radius: var(--_radius-small);
    color: var(--_notice);
    padding: calc(var(--_space) * 2) calc(var(--_space) * 3);
  }

  .actions {
    display: flex;
    flex-wrap: wrap;
    gap: calc(var(--_space) * 2);
  }

  /* However they come to stand, above or beside each other, their ends form a line. */
  .actions .button {
    flex: 1 1 auto;
  }

  .actions .button.primary,
  .actions .button.firm {
    flex-grow: 999;
  }

  .actions .button:only-child:not(.primary, .firm) {
    flex-grow: 0;
  }

  .actions:has(> .button:nth-child(3)) > .button.primary {
    flex-basis: 100%;
  }

  .ask {
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 2.5);
  }

  .button.firm {
    background: var(--_danger);
    color: var(--_on-danger);
  }

  .button.firm:hover:not(:disabled) {
    background: color-mix(in oklab, var(--_danger) 88%, var(--_text));
  }

  @container (max-width: 17rem) {
    dl.rows {
      grid-template-columns: 1fr;
    }
  }

  @media (pointer: coarse) {
    details summary,
    .linked {
      min-block-size: 2.75rem;
    }
  }
`;
