import { css } from 'lit';

/** The widths are those of room.ts: the layout is the element's, so it asks its own box. Letters of
 * twice the size make no pane wider than its part of it. */
export const styles = css`
  :host {
    background: var(--_surface);
    block-size: 100%;
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    box-sizing: border-box;
    contain-intrinsic-inline-size: min(80rem, 100vw - 4rem);
    container-type: inline-size;
    display: block;
    inline-size: 100%;
    min-block-size: 20rem;
    min-inline-size: min(100%, 18rem);
    overflow: clip;
    position: relative;
  }

  /* The height in a page that gives none; in a box that has one it changes nothing. */
  :host::before {
    block-size: clamp(24rem, 85dvh, 46rem);
    content: '';
    display: block;
  }

  .panes {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    grid-template-rows: minmax(0, 1fr);
    inset: 0;
    position: absolute;
  }

  .pane {
    background: var(--_surface);
    display: flex;
    flex-direction: column;
    grid-area: 1 / 1;
    min-block-size: 0;
    min-inline-size: 0;
  }

  /* Hidden panes stay laid out, so that lists keep their place. */
  .at-inbox > .thread,
  .at-thread > .inbox,
  .at-panel > .inbox,
  .at-panel > .thread {
    visibility: hidden;
  }

  greenroom-inbox,
  greenroom-thread,
  greenroom-panel {
    border: 0;
    flex: 1;
    inline-size: 100%;
    max-block-size: none;
    min-block-size: 0;
    min-inline-size: 0;
  }

  .pane:focus {
    outline: none;
  }

  ::slotted(a) {
    color: var(--_accent-text);
  }

  .signed-out {
    display: flex;
    flex-direction: column;
    inset: 0;
    position: absolute;
  }

  @container (min-width: 44rem) {
    .panes {
      grid-template-columns: min(22.5rem, 45cqi) minmax(0, 1fr);
    }

    .panes > .pane {
      visibility: visible;
    }

    .inbox {
      border-inline-end: 1px solid var(--_line);
    }

    .thread {
      grid-column: 2;
    }

    .scrim {
      background: rgb(0 0 0 / 40%);
      grid-area: 1 / 1 / -1 / -1;
      z-index: 1;
    }

    .panel {
      box-shadow: var(--_shadow);
      grid-column: 1 / -1;
      inline-size: min(25rem, 100% - 4rem);
      justify-self: end;
      z-index: 2;
    }
  }

  @container (min-width: 75rem) {
    .panes.at-panel {
      grid-template-columns: min(22.5rem, 30cqi) minmax(0, 1fr) min(22.5rem, 30cqi);
    }

    .panel {
      border-inline-start: 1px solid var(--_line);
      box-shadow: none;
      grid-column: 3;
      inline-size: auto;
      justify-self: stretch;
    }
  }

  @media (prefers-reduced-motion: no-preference) {
    .scrim,
    .panel {
      animation: arrive 0.18s ease-out;
    }

    @container (min-width: 44rem) and (max-width: 74.99rem) {
      .panel {
        animation: slide 0.22s cubic-bezier(0.2, 0.8, 0.2, 1);
      }

      :host([dir='rtl']) .panel {
        animation-name: slide-back;
      }
    }
  }

  @keyframes arrive {
    from {
      opacity: 0;
    }
  }

  @keyframes slide {
    from {
      transform: translateX(100%);
    }
  }

  @keyframes slide-back {
    from {
      transform: translateX(-100%);
    }
  }
`;
