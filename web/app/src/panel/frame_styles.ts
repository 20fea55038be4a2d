import { css } from 'lit';

export const frameStyles = css`
  :host {
    block-size: 100%;
    container-type: inline-size;
    display: block;
  }

  .frame {
    block-size: 100%;
    display: flex;
    flex-direction: column;
    min-block-size: 0;
  }

  header {
    align-items: center;
    display: flex;
    justify-content: space-between;
    min-block-size: 3.75rem;
    padding-block: calc(var(--_space) * 2);
    padding-inline: calc(var(--_space) * 5) calc(var(--_space) * 3);
  }

  h2 {
    font-size: var(--_size-large);
    font-weight: 650;
    margin: 0;
  }

  .tabs {
    border-block-end: 1px solid var(--_line);
    display: grid;
    flex: none;
    gap: calc(var(--_space) * 0.5);
    grid-template-columns: repeat(4, minmax(0, 1fr));
    padding: 0 calc(var(--_space) * 3) calc(var(--_space) * 3);
  }

  .tabs button {
    align-items: center;
    background: transparent;
    border: 0;
    border-radius: var(--_radius-small);
    color: var(--_text);
    display: flex;
    flex-direction: column;
    font-size: var(--_size-tiny);
    gap: calc(var(--_space) * 0.75);
    min-block-size: 3.25rem;
    padding: calc(var(--_space) * 1.5) 0;
    position: relative;
  }

  .tabs button span {
    max-inline-size: 100%;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  .tabs .later {
    color: var(--_text-quiet);
  }

  .tabs button:hover {
    background: var(--_hover);
  }

  .tabs button[aria-selected='true'] {
    background: var(--_accent-soft);
    color: var(--_accent-text);
  }

  .tabs .icon {
    block-size: 1.25rem;
    inline-size: 1.25rem;
  }

  .tabs .count {
    background: var(--_accent);
    border-radius: 1em;
    color: var(--_on-accent);
    font-size: 0.6875rem;
    font-weight: 650;
    inset-block-start: calc(var(--_space) * 0.75);
    inset-inline-start: calc(50% + 0.45rem);
    line-height: 1.125rem;
    min-inline-size: 1.125rem;
    padding-inline: 0.3rem;
    position: absolute;
    text-align: center;
  }

  .scroll {
    flex: 1;
    min-block-size: 0;
    outline-offset: -3px;
    overflow-y: auto;
    overscroll-behavior: contain;
    padding: calc(var(--_space) * 5);
    padding-block-end: max(calc(var(--_space) * 6), env(safe-area-inset-bottom));
    /* What stands in it does not move when it grows. */
    scrollbar-gutter: stable;
    scrollbar-width: thin;
  }

  .scroll > .problem {
    margin-block: 0 calc(var(--_space) * 4);
  }

  .none {
    padding: calc(var(--_space) * 5);
  }

  .skeletons {
    display: grid;
    gap: calc(var(--_space) * 4);
  }

  .skeleton {
    background: var(--_surface-sunken);
    block-size: 7.5rem;
    border-radius: var(--_radius);
  }

  .failure {
    align-items: center;
    color: var(--_text-quiet);
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 2);
    margin: calc(var(--_space) * 10) auto;
    max-inline-size: 17rem;
    text-align: center;
    text-wrap: balance;
  }

  .failure h3 {
    color: var(--_text);
    font-size: var(--_size-large);
    font-weight: 650;
    margin: 0;
  }

  .failure p {
    margin: 0 0 calc(var(--_space) * 2);
  }

  @container (min-width: 40rem) {
    .tabs {
      grid-template-columns: repeat(8, minmax(0, 1fr));
    }

    .scroll {
      padding-inline: max(calc(var(--_space) * 5), (100cqi - 40rem) / 2);
    }
  }

  @media (forced-colors: active) {
    .tabs button[aria-selected='true'] {
      outline: 2px solid Highlight;
      outline-offset: -2px;
    }

    .tabs .count {
      border: 1px solid;
    }
  }

  @media (prefers-reduced-motion: no-preference) {
    .skeleton {
      animation: breathe 1.4s ease-in-out infinite alternate;
    }

    @keyframes breathe {
      to {
        opacity: 0.5;
      }
    }
  }
`;
