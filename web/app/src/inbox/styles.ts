/** How the inbox looks. */

import { css } from 'lit';

export const chips = css`
  .chip {
    align-items: center;
    background: var(--_accent-soft);
    border: 1px solid var(--_accent);
    border-radius: var(--_radius-round);
    color: var(--_accent-text);
    display: inline-flex;
    font-size: var(--_size-small);
    font-weight: 500;
    gap: calc(var(--_space) * 1.5);
    min-block-size: 1.75rem;
    padding-inline: calc(var(--_space) * 2.5) calc(var(--_space) * 1.5);
  }

  .chip svg.icon {
    block-size: 1em;
    inline-size: 1em;
  }

  @media (pointer: coarse) {
    .chip {
      min-block-size: 2.75rem;
    }
  }
`;

export const frame = css`
  :host {
    background: var(--_surface);
    block-size: 100%;
    box-sizing: border-box;
    /* What it would like to have where nobody says: its contents do not count. */
    contain-intrinsic-inline-size: 20rem;
    container-type: inline-size;
    display: flex;
    flex-direction: column;
    /* In a page that gives it no height it would be as long as its list. */
    max-block-size: 100dvh;
    min-block-size: 20rem;
    min-inline-size: min(100%, 15rem);
    position: relative;
  }

  /* What it opens stands beside it. */
  :host([for]) {
    border-inline-end: 1px solid var(--_line);
  }

  header {
    display: flex;
    flex: none;
    flex-direction: column;
    gap: calc(var(--_space) * 2.5);
    padding-block: calc(var(--_space) * 4) calc(var(--_space) * 2);
  }

  .top,
  .find,
  .chips {
    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 2);
    padding-inline: calc(var(--_space) * 4);
  }

  h2 {
    flex: none;
    font-size: calc(var(--_size) * 1.4);
    font-weight: 680;
    letter-spacing: -0.015em;
    line-height: 1.2;
    margin: 0;
  }

  .room {
    flex: 1;
  }

  .search {
    flex: 1;
    min-inline-size: 0;
    position: relative;
  }

  .search > svg.icon {
    color: var(--_text-quiet);
    inset-block: 0;
    inset-inline-start: calc(var(--_space) * 3);
    margin-block: auto;
    pointer-events: none;
    position: absolute;
  }

  .search input {
    appearance: none;
    background: var(--_surface-sunken);
    border-color: transparent;
    border-radius: var(--_radius-round);
    padding-inline: calc(var(--_space) * 10) calc(var(--_space) * 3);
    text-overflow: ellipsis;
  }

  .search.filled input {
    padding-inline-end: calc(var(--_space) * 11);
  }

  .search input::placeholder {
    color: var(--_text-quiet);
    opacity: 1;
  }

  .search input::-webkit-search-cancel-button {
    display: none;
  }

  .search .icon-button {
    inset-block: 0;
    inset-inline-end: 2px;
    margin-block: auto;
    position: absolute;
  }

  .chips {
    flex-wrap: wrap;
  }

  .panel {
    display: flex;
    flex: 1;
    flex-direction: column;
    min-block-size: 0;
    position: relative;
  }

  .line {
    align-items: center;
    background: var(--_surface-sunken);
    color: var(--_text-quiet);
    display: flex;
    flex: none;
    font-size: var(--_size-small);
    gap: calc(var(--_space) * 2);
    justify-content: space-between;
    padding: calc(var(--_space) * 1.5) calc(var(--_space) * 4);
  }

  .note {
    align-items: center;
    background: var(--_text);
    border-radius: var(--_radius-small);
    box-shadow: var(--_shadow);
    color: var(--_surface);
    display: flex;
    gap: calc(var(--_space) * 2);
    inset-block-end: calc(var(--_space) * 3);
    inset-inline: calc(var(--_space) * 3);
    justify-content: space-between;
    padding: calc(var(--_space) * 2) calc(var(--_space) * 2) calc(var(--_space) * 2)
      calc(var(--_space) * 4);
    position: absolute;
  }

  .note button {
    color: inherit;
  }

  .note .button {
    background: transparent;
    border-color: transparent;
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }

  .note .button:hover:not(:disabled),
  .note .icon-button:hover:not(:disabled) {
    background: color-mix(in oklab, var(--_surface) 18%, transparent);
    color: inherit;
  }

  .note :focus-visible {
    outline-color: currentcolor;
  }

  .note .ends {
    display: flex;
    flex: none;
  }

  @media (prefers-reduced-motion: no-preference) {
    .note {
      animation: rise 160ms ease-out;
    }
  }

  @keyframes rise {
    from {
      opacity: 0;
      transform: translateY(0.5rem);
    }
  }
`;

export const skeleton = css`
  .bones {
    display: flex;
    flex: 1;
    flex-direction: column;
    overflow: hidden;
    padding: 0 calc(var(--_space) * 2);
  }

  .bone {
    align-items: center;
    block-size: 4.5rem;
    display: flex;
    flex: none;
    gap: calc(var(--_space) * 3);
    padding-inline: calc(var(--_space) * 2.5);
  }

  .bone i {
    background: var(--_hover);
    block-size: 0.75rem;
    border-radius: 0.5rem;
    display: block;
    inline-size: 55%;
  }

  .bone i:first-child {
    block-size: 2.875rem;
    border-radius: 50%;
    flex: none;
    inline-size: 2.875rem;
  }

  .bone div {
    display: grid;
    flex: 1;
    gap: calc(var(--_space) * 2.5);
  }

  .bone div i:first-child {
    block-size: 0.75rem;
    border-radius: 0.5rem;
    inline-size: 35%;
  }

  .bone div i:last-child {
    inline-size: 80%;
  }

  @media (prefers-reduced-motion: no-preference) {
    /* An answer that is here at once needs no announcement. */
    .bones {
      animation:
        appear 200ms 150ms backwards,
        breathe 1.8s 350ms ease-in-out infinite;
    }
  }

  @keyframes appear {
    from {
      opacity: 0;
    }
  }

  @keyframes breathe {
    50% {
      opacity: 0.55;
    }
  }
`;
