/** How the inbox looks. */

import { css } from 'lit';

export const chips = css`
  .choice {
    display: inline-flex;
    position: relative;
  }

  .choice input {
    appearance: none;
    block-size: 100%;
    border-radius: 2rem;
    cursor: pointer;
    inline-size: 100%;
    inset: 0;
    margin: 0;
    position: absolute;
  }

  .choice span,
  .chip {
    align-items: center;
    border: 1px solid var(--_line);
    border-radius: 2rem;
    display: inline-flex;
    font-size: var(--_size-small);
    gap: calc(var(--_space) * 1.5);
    min-block-size: 2rem;
    padding-inline: calc(var(--_space) * 3);
  }

  .choice:hover span {
    background: var(--_hover);
  }

  .choice input:checked + span,
  .chip {
    background: var(--_accent-soft);
    border-color: var(--_accent);
    color: var(--_accent);
    font-weight: 500;
  }

  .chip {
    min-block-size: 1.75rem;
    padding-inline: calc(var(--_space) * 2.5) calc(var(--_space) * 1.5);
  }

  .chip svg.icon {
    block-size: 1em;
    inline-size: 1em;
  }

  @media (pointer: coarse) {
    .choice span,
    .chip {
      min-block-size: 2.75rem;
    }
  }
`;

export const frame = css`
  :host {
    background: var(--_surface);
    block-size: 100%;
    container-type: inline-size;
    display: flex;
    flex-direction: column;
    /* In a page that gives it no height it would be as long as its list. */
    max-block-size: 100dvh;
    min-block-size: 12rem;
    min-inline-size: 0;
    position: relative;
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
    border-radius: 2rem;
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

  .state {
    align-items: center;
    display: flex;
    flex: 1;
    flex-direction: column;
    gap: calc(var(--_space) * 2);
    justify-content: center;
    margin: auto;
    max-inline-size: 22rem;
    overflow-y: auto;
    padding: calc(var(--_space) * 6);
    text-align: center;
  }

  .state .sign {
    align-items: center;
    background: var(--_accent-soft);
    block-size: 4rem;
    border-radius: 50%;
    color: var(--_accent);
    display: flex;
    flex: none;
    font-size: 1.5rem;
    inline-size: 4rem;
    justify-content: center;
    margin-block-end: calc(var(--_space) * 2);
  }

  .state h3 {
    font-size: var(--_size-large);
    margin: 0;
  }

  .state p {
    color: var(--_text-quiet);
    margin: 0;
    overflow-wrap: anywhere;
  }

  .state .button {
    margin-block-start: calc(var(--_space) * 2);
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
