import { css } from 'lit';

/** Dark in every theme: a picture is looked at, not the page around it. */
export const lightboxStyles = css`
  dialog {
    background: #0c0d0e;
    block-size: 100dvh;
    border: 0;
    color: #fff;
    inline-size: 100vw;
    margin: 0;
    max-block-size: none;
    max-inline-size: none;
    overflow: hidden;
    padding: 0;
  }

  .stage {
    align-items: center;
    display: flex;
    inset: 0;
    justify-content: center;
    padding: 3.5rem 0;
    position: absolute;
    touch-action: none;
  }

  .stage img {
    max-block-size: 100%;
    max-inline-size: 100%;
    object-fit: contain;
    user-select: none;
    will-change: transform;
  }

  .stage.zoomed {
    cursor: grab;
  }

  .stage.zoomed:active {
    cursor: grabbing;
  }

  .stage video {
    max-block-size: 100%;
    max-inline-size: 100%;
  }

  .stage greenroom-picture {
    border-radius: var(--_radius);
    inline-size: min(34rem, 90vw);
  }

  header {
    align-items: center;
    background: linear-gradient(rgb(0 0 0 / 60%), transparent);
    display: flex;
    gap: var(--_space);
    inset: 0 0 auto;
    padding: calc(var(--_space) * 2);
    padding-block-start: max(calc(var(--_space) * 2), env(safe-area-inset-top));
    position: absolute;
  }

  .count {
    flex: 1;
    font-variant-numeric: tabular-nums;
    padding-inline: calc(var(--_space) * 2);
  }

  .icon-button {
    background: rgb(40 42 44 / 70%);
    block-size: 2.75rem;
    color: #fff;
    inline-size: 2.75rem;
  }

  .icon-button:hover:not(:disabled) {
    background: rgb(80 84 88 / 90%);
    color: #fff;
  }

  :focus-visible {
    outline-color: #fff;
  }

  .arrow {
    inset-block-start: calc(50% - 1.375rem);
    position: absolute;
  }

  .arrow:disabled {
    visibility: hidden;
  }

  .before {
    inset-inline-start: calc(var(--_space) * 3);
  }

  .after {
    inset-inline-end: calc(var(--_space) * 3);
  }

  .caption {
    background: linear-gradient(transparent, rgb(0 0 0 / 70%));
    inset: auto 0 0;
    margin: 0;
    padding: calc(var(--_space) * 8) calc(var(--_space) * 5) calc(var(--_space) * 4);
    padding-block-end: max(calc(var(--_space) * 4), env(safe-area-inset-bottom));
    pointer-events: none;
    position: absolute;
    text-align: center;
    text-wrap: balance;
  }

  @media (pointer: coarse) {
    .arrow {
      display: none;
    }
  }

  @media (prefers-reduced-motion: no-preference) {
    dialog[open] {
      animation: open 0.16s ease-out;
    }

    @keyframes open {
      from {
        opacity: 0;
      }
    }
  }
`;
