import { css } from 'lit';

export const trayStyles = css`
  :host {
    display: block;
  }

  p {
    margin: 0 0 calc(var(--_space) * 2);
  }

  .leftover {
    align-items: center;
    background: var(--_surface-sunken);
    border-radius: var(--_radius-small);
    display: flex;
    flex-wrap: wrap;
    font-size: var(--_size-small);
    gap: calc(var(--_space) * 1);
    margin-block-end: calc(var(--_space) * 2);
    padding: calc(var(--_space) * 1.5) calc(var(--_space) * 1.5) calc(var(--_space) * 1.5)
      calc(var(--_space) * 3);
  }

  .leftover span {
    flex: 1 1 12rem;
  }

  .tiles {
    display: flex;
    gap: calc(var(--_space) * 2);
    list-style: none;
    margin: 0;
    overflow-x: auto;
    overscroll-behavior-inline: contain;
    padding: 0.5rem 0.5rem 0.625rem;
    scrollbar-width: thin;
  }

  .tile {
    border-radius: var(--_radius);
    cursor: grab;
    flex: none;
    inline-size: 6rem;
    position: relative;
  }

  .tile.dragged {
    opacity: 0.5;
  }

  .look {
    align-content: center;
    background: var(--_surface-sunken);
    block-size: 6rem;
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    display: grid;
    gap: var(--_space);
    overflow: hidden;
    text-align: center;
  }

  .look img {
    block-size: 6rem;
    inline-size: 100%;
    object-fit: cover;
  }

  .tile:not(.done) .look img {
    opacity: 0.6;
  }

  .tile.failed .look {
    background: var(--_danger-soft);
    border-color: var(--_danger);
  }

  .type {
    font-size: var(--_size-small);
    font-weight: 700;
    letter-spacing: 0.02em;
  }

  .name {
    color: var(--_text-quiet);
    font-size: var(--_size-tiny);
    overflow: hidden;
    padding-inline: calc(var(--_space) * 2);
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  progress {
    accent-color: var(--_accent);
    appearance: none;
    background: var(--_surface);
    block-size: 5px;
    border: 0;
    border-radius: 3px;
    inline-size: calc(100% - 1rem);
    inset-block-start: 5.25rem;
    inset-inline: 0.5rem;
    overflow: hidden;
    position: absolute;
  }

  progress::-webkit-progress-bar {
    background: var(--_surface);
  }

  progress::-webkit-progress-value {
    background: var(--_accent);
  }

  .failure {
    color: var(--_danger);
    inset-block-start: 4.5rem;
    inset-inline-start: 0.375rem;
    position: absolute;
  }

  .round {
    align-items: center;
    background: var(--_surface-raised);
    block-size: 1.75rem;
    border: 1px solid var(--_line);
    border-radius: 50%;
    box-shadow: 0 1px 3px rgb(0 0 0 / 18%);
    color: var(--_text);
    display: flex;
    inline-size: 1.75rem;
    justify-content: center;
    padding: 0;
    position: absolute;
  }

  .round svg.icon {
    block-size: 1rem;
    inline-size: 1rem;
  }

  /* Small to look at, and large enough for a finger. */
  .round::before {
    content: '';
    inset: -0.5rem;
    position: absolute;
  }

  .remove {
    inset-block-start: -0.5rem;
    inset-inline-end: -0.5rem;
  }

  .deed {
    inset-block-start: 2.125rem;
    inset-inline-start: calc(50% - 0.875rem);
  }

  .describe {
    align-items: center;
    background: transparent;
    border: 0;
    border-radius: var(--_radius-small);
    color: var(--_text-quiet);
    display: flex;
    font-size: var(--_size-tiny);
    gap: 2px;
    inline-size: 100%;
    justify-content: center;
    min-block-size: 1.75rem;
    padding: 0;
  }

  .describe:hover {
    background: var(--_hover);
    color: var(--_text);
  }

  .describe.has {
    color: var(--_accent-text);
    font-weight: 600;
  }

  .description {
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 2);
  }

  .description img {
    align-self: center;
    border-radius: var(--_radius-small);
    max-block-size: 14rem;
    max-inline-size: 100%;
  }

  .description label {
    font-weight: 500;
  }

  .description p {
    margin: 0;
  }

  .end {
    display: flex;
    justify-content: flex-end;
  }

  @media (pointer: coarse) {
    .describe {
      min-block-size: 2.75rem;
    }

    .round {
      block-size: 2rem;
      inline-size: 2rem;
    }
  }
`;
