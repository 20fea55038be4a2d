import { css } from 'lit';

export const composerStyles = css`
  :host {
    container-type: inline-size;
    display: block;
  }

  form {
    padding: calc(var(--_space) * 2) calc(var(--_space) * 3);
    padding-block-end: max(calc(var(--_space) * 2), env(safe-area-inset-bottom));
  }

  .bar {
    align-items: flex-end;
    background: var(--_surface);
    border: 1px solid var(--_line-strong);
    border-radius: var(--_radius-round);
    display: flex;
    gap: var(--_space);
    padding: 3px;
  }

  .bar:has(textarea:focus) {
    border-color: var(--_accent);
    box-shadow: 0 0 0 1px var(--_accent);
  }

  textarea::placeholder {
    color: var(--_text-quiet);
    opacity: 1;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  .bar[hidden] {
    display: none;
  }

  greenroom-new-card:not(:defined),
  greenroom-attach:not(:defined) {
    flex: none;
    inline-size: 2.25rem;
  }

  greenroom-attach:not(:defined) {
    inline-size: 4.5rem;
  }

  .send {
    align-items: center;
    background: var(--_accent);
    block-size: 2.375rem;
    border: 0;
    border-radius: 50%;
    color: var(--_on-accent);
    display: flex;
    flex: none;
    inline-size: 2.375rem;
    justify-content: center;
    padding: 0;
  }

  .send:disabled {
    background: var(--_hover);
    color: var(--_text-quiet);
    opacity: 1;
  }

  .send:hover:not(:disabled) {
    background: color-mix(in oklab, var(--_accent) 88%, var(--_text));
  }

  .below {
    color: var(--_text-quiet);
    font-size: var(--_size-tiny);
    padding-inline: calc(var(--_space) * 4);
    text-align: end;
  }

  .below > * {
    display: block;
    padding-block: calc(var(--_space) * 0.75);
  }

  .below .bad {
    color: var(--_danger);
    text-align: start;
  }

  .hint {
    display: none;
    min-block-size: 1.45em;
  }

  .hint > * {
    margin-inline-end: 0.5em;
  }

  .reply {
    align-items: center;
    border-inline-start: 3px solid var(--_accent);
    display: flex;
    gap: calc(var(--_space) * 2);
    margin: 0 calc(var(--_space) * 2) calc(var(--_space) * 2);
    padding-inline-start: calc(var(--_space) * 3);
  }

  .reply div {
    flex: 1;
    font-size: var(--_size-small);
    min-inline-size: 0;
  }

  .reply strong {
    color: var(--_accent-text);
    display: block;
    font-weight: 600;
  }

  .reply span {
    color: var(--_text-quiet);
    display: block;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  @container (min-width: 30rem) {
    .hint {
      display: block;
    }
  }

  @media (pointer: coarse) {
    .hint {
      display: none;
    }

    greenroom-new-card:not(:defined) {
      inline-size: 2.75rem;
    }

    greenroom-attach:not(:defined) {
      inline-size: 5.5rem;
    }

    .send {
      block-size: 2.75rem;
      inline-size: 2.75rem;
    }
  }
`;
