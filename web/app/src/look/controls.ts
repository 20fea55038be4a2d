/** Buttons, fields and what else looks the same everywhere. */

import { css } from 'lit';

export const controls = css`
  :host([hidden]) {
    display: none;
  }

  /* Not for what is drawn before and after: a rule for those of all elements makes the browser
     work out two more styles for each. */
  * {
    box-sizing: border-box;
  }

  button,
  input,
  select,
  textarea {
    color: inherit;
    font: inherit;
  }

  button {
    cursor: pointer;
    touch-action: manipulation;
  }

  button:disabled {
    cursor: default;
    opacity: 0.55;
  }

  :focus-visible {
    outline: 2px solid var(--_accent);
    outline-offset: 2px;
  }

  .button {
    align-items: center;
    background: var(--_surface-raised);
    border: 1px solid var(--_line-strong);
    border-radius: var(--_radius-small);
    display: inline-flex;
    font-weight: 500;
    gap: calc(var(--_space) * 2);
    justify-content: center;
    min-block-size: 2.25rem;
    padding: calc(var(--_space) * 1.5) calc(var(--_space) * 3.5);
  }

  .button:hover:not(:disabled) {
    background: var(--_hover);
  }

  .button.primary {
    background: var(--_accent);
    border-color: transparent;
    color: var(--_on-accent);
    font-weight: 600;
  }

  .button.primary:hover:not(:disabled) {
    background: color-mix(in oklab, var(--_accent) 88%, var(--_text));
  }

  .button.danger {
    background: transparent;
    border-color: var(--_danger);
    color: var(--_danger);
  }

  .button.danger:hover:not(:disabled) {
    background: var(--_danger-soft);
  }

  .button.plain {
    background: transparent;
    border-color: transparent;
    color: var(--_accent-text);
  }

  .icon-button {
    align-items: center;
    background: transparent;
    block-size: 2.25rem;
    border: 0;
    border-radius: 50%;
    color: var(--_text-quiet);
    display: inline-flex;
    flex: none;
    inline-size: 2.25rem;
    justify-content: center;
    padding: 0;
  }

  .icon-button:hover:not(:disabled),
  .icon-button[aria-expanded='true'] {
    background: var(--_hover);
    color: var(--_text);
  }

  .field {
    background: var(--_surface);
    border: 1px solid var(--_line-strong);
    border-radius: var(--_radius-small);
    inline-size: 100%;
    min-block-size: 2.5rem;
    padding: calc(var(--_space) * 2) calc(var(--_space) * 3);
  }

  .field[aria-invalid='true'] {
    border-color: var(--_danger);
  }

  .quiet {
    color: var(--_text-quiet);
  }

  .small {
    font-size: var(--_size-small);
  }

  .problem {
    background: var(--_danger-soft);
    border-radius: var(--_radius-small);
    color: var(--_danger);
    padding: calc(var(--_space) * 2) calc(var(--_space) * 3);
  }

  .visually-hidden {
    block-size: 1px;
    clip-path: inset(50%);
    inline-size: 1px;
    overflow: hidden;
    position: absolute;
    white-space: nowrap;
  }

  svg.icon {
    block-size: 1.25em;
    fill: none;
    flex: none;
    inline-size: 1.25em;
    stroke: currentcolor;
    stroke-linecap: round;
    stroke-linejoin: round;
    stroke-width: 1.75;
  }

  [dir='rtl'] svg.icon.turns,
  :host([dir='rtl']) svg.icon.turns {
    transform: scaleX(-1);
  }

  @media (pointer: coarse) {
    .button,
    .field {
      min-block-size: 2.75rem;
    }

    .icon-button {
      block-size: 2.75rem;
      inline-size: 2.75rem;
    }

    /* A smaller one makes phones zoom in on focus. */
    .field {
      font-size: max(1rem, var(--_size));
    }
  }
`;
