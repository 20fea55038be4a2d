import { css } from 'lit';

export const headerStyles = css`
  :host {
    container-type: inline-size;
    display: block;
  }

  header {
    --avatar-size: 2.5rem;

    align-items: center;
    border-block-end: 1px solid var(--_line);
    display: flex;
    gap: calc(var(--_space) * 3);
    min-block-size: 3.75rem;
    padding: calc(var(--_space) * 2) calc(var(--_space) * 3);
    padding-inline-start: calc(var(--_space) * 4);
  }

  .back {
    display: none;
    margin-inline: calc(var(--_space) * -2);
  }

  :host([back='always']) .back {
    display: inline-flex;
  }

  .who {
    flex: 1;
    min-inline-size: 0;
  }

  h2,
  .who p {
    margin: 0;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  .names {
    background: transparent;
    border: 0;
    border-radius: var(--_radius-small);
    color: inherit;
    font: inherit;
    max-inline-size: 100%;
    overflow: hidden;
    padding: 0;
    text-align: start;
    text-overflow: ellipsis;
  }

  /* A finger needs more than a line of text: the button reaches over the line below. */
  @media (pointer: coarse) {
    h2 {
      overflow: visible;
    }

    .names {
      margin-block: -0.75rem;
      min-block-size: 2.75rem;
      padding-block: 0.75rem;
    }
  }

  .names:hover {
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }

  h2 {
    font-size: var(--_size);
    font-weight: 650;
    line-height: 1.3;
  }

  .who p {
    color: var(--_text-quiet);
    font-size: var(--_size-small);
    line-height: 1.35;
    min-block-size: 1.35em;
  }

  .alive {
    color: var(--_accent-text);
  }

  .dots i {
    background: var(--_accent);
    block-size: 4px;
    border-radius: 50%;
    display: inline-block;
    inline-size: 4px;
    margin-inline-start: 3px;
  }

  .ghost {
    background: var(--_bubble);
    block-size: 0.9rem;
    border-radius: 99px;
    display: block;
    inline-size: 9rem;
    max-inline-size: 100%;
  }

  .ghost.short {
    inline-size: 5rem;
    margin-block-start: calc(var(--_space) * 1.5);
  }

  .ghost.round {
    block-size: 2.5rem;
    inline-size: 2.5rem;
  }

  header > .icon-button:not(.back) {
    margin-inline-end: calc(var(--_space) * -2);
  }

  @container (max-width: 30rem) {
    :host(:not([back='never'])) .back {
      display: inline-flex;
    }

    header {
      gap: calc(var(--_space) * 2);
    }
  }

  /* With large text on a phone the name is worth more; the menu has the details too. */
  @container (max-width: 17rem) {
    greenroom-avatar,
    .details {
      display: none;
    }
  }

  @media (prefers-reduced-motion: no-preference) {
    .dots i {
      animation: dot 1.2s ease-in-out infinite alternate;
    }

    .dots i:nth-child(2) {
      animation-delay: 0.2s;
    }

    .dots i:nth-child(3) {
      animation-delay: 0.4s;
    }

    @keyframes dot {
      from {
        opacity: 0.25;
      }
    }
  }
`;
