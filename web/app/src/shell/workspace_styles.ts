import { css } from 'lit';

/** The page is nothing but messages: they have all of it, and no frame. */
export const styles = css`
  :host {
    block-size: 100%;
    display: block;
    padding: env(safe-area-inset-top) env(safe-area-inset-right) 0 env(safe-area-inset-left);
  }

  greenroom-messages {
    border: 0;
    border-radius: 0;
    min-block-size: 0;
    min-inline-size: 0;
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
`;
