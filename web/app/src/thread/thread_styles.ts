import { css } from 'lit';

export const threadStyles = css`
  :host {
    background: var(--_surface);
    block-size: 100%;
    box-sizing: border-box;
    display: block;
    /* Beside others in a row it takes what they leave. */
    flex-grow: 1;
    max-block-size: 100dvh;
    min-block-size: 20rem;
    min-inline-size: min(100%, 16rem);
    overflow: hidden;
  }

  .frame {
    block-size: 100%;
    display: flex;
    flex-direction: column;
    min-block-size: inherit;
  }

  .frame.dropping {
    position: relative;
  }

  .dropping::after {
    align-content: center;
    background: color-mix(in oklab, var(--_accent-soft) 92%, transparent);
    border: 2px dashed var(--_accent);
    border-radius: var(--_radius);
    color: var(--_accent-text);
    content: attr(data-drop);
    font-size: var(--_size-large);
    font-weight: 600;
    inset: calc(var(--_space) * 2);
    pointer-events: none;
    position: absolute;
    text-align: center;
    z-index: 3;
  }

  greenroom-timeline {
    flex: 1;
  }

  .banner {
    align-items: center;
    background: var(--_notice-soft);
    border-radius: 0;
    color: var(--_notice);
    display: flex;
    font-size: var(--_size-small);
    gap: calc(var(--_space) * 2);
    margin: 0;
    min-block-size: 2.25rem;
    padding: calc(var(--_space) * 1.5) calc(var(--_space) * 4);
  }

  .banner span {
    flex: 1;
  }

  .banner strong {
    font-weight: 600;
    white-space: nowrap;
  }

  .banner.problem {
    background: var(--_danger-soft);
    color: var(--_danger);
  }

  .closed {
    border-block-start: 1px solid var(--_line);
    color: var(--_text-quiet);
    margin: 0;
    padding: calc(var(--_space) * 4);
    padding-block-end: max(calc(var(--_space) * 4), env(safe-area-inset-bottom));
    text-align: center;
  }
`;
