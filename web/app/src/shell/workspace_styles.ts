import { css } from 'lit';

/** The widths are those of screen.ts: the layout is the page's, so it asks the window. Letters of
 * twice the size make no pane wider than its part of the window. */
export const styles = css`
  :host {
    block-size: 100%;
    display: block;
    padding-inline: env(safe-area-inset-left) env(safe-area-inset-right);
  }

  .panes {
    block-size: 100%;
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    grid-template-rows: minmax(0, 1fr);
  }

  .pane {
    background: var(--_surface);
    display: flex;
    flex-direction: column;
    grid-area: 1 / 1;
    min-block-size: 0;
    min-inline-size: 0;
    padding-block-start: env(safe-area-inset-top);
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
    flex: 1;
    min-block-size: 0;
  }

  main:focus {
    outline: none;
  }

  .nothing {
    align-items: center;
    color: var(--_text-quiet);
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 2);
    margin: auto;
    max-inline-size: 22rem;
    padding: calc(var(--_space) * 6);
    text-align: center;
    text-wrap: balance;
  }

  .nothing h2 {
    color: var(--_text);
    font-size: 1.25rem;
    font-weight: 650;
    margin: 0;
  }

  .nothing p {
    margin: 0;
  }

  .emblem {
    align-items: center;
    background: var(--_accent-soft);
    block-size: 4.5rem;
    border-radius: 50%;
    color: var(--_accent);
    display: flex;
    inline-size: 4.5rem;
    justify-content: center;
    margin-block-end: calc(var(--_space) * 2);
  }

  .emblem .icon {
    block-size: 2rem;
    inline-size: 2rem;
  }

  .skip {
    inset-block-start: 0;
    inset-inline-start: 0;
    position: absolute;
    z-index: 3;
  }

  .skip button {
    background: var(--_accent);
    border: 0;
    border-radius: var(--_radius-small);
    color: var(--_on-accent);
    font-weight: 600;
    margin: calc(var(--_space) * 2);
    padding: calc(var(--_space) * 3) calc(var(--_space) * 4);
    position: absolute;
    white-space: nowrap;
  }

  .skip button:not(:focus) {
    block-size: 1px;
    clip-path: inset(50%);
    inline-size: 1px;
    overflow: hidden;
    padding: 0;
  }

  @media (min-width: 44rem) {
    .panes {
      grid-template-columns: min(18.5rem, 42vw) minmax(0, 1fr);
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

  @media (min-width: 56.25rem) {
    .panes {
      grid-template-columns: min(22.5rem, 40vw) minmax(0, 1fr);
    }
  }

  @media (min-width: 75rem) {
    .panes.at-panel {
      grid-template-columns: min(22.5rem, 30vw) minmax(0, 1fr) min(22.5rem, 30vw);
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

    @keyframes arrive {
      from {
        opacity: 0;
      }
    }
  }

  @media (prefers-reduced-motion: no-preference) and (min-width: 44rem) and (max-width: 74.99rem) {
    .panel {
      animation: slide 0.22s cubic-bezier(0.2, 0.8, 0.2, 1);
    }

    :host([dir='rtl']) .panel {
      animation-name: slide-back;
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
  }
`;
