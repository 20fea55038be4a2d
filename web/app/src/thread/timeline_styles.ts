import { css } from 'lit';

export const timelineStyles = css`
  :host {
    container-type: inline-size;
    display: flex;
    flex-direction: column;
    min-block-size: 0;
    position: relative;
  }

  .scroller {
    flex: 1;
    min-block-size: 0;
    overflow-anchor: none;
    overflow-x: hidden;
    overflow-y: auto;
    overscroll-behavior: contain;
    scrollbar-gutter: stable;
  }

  .content {
    display: flex;
    flex-direction: column;
    justify-content: flex-end;
    min-block-size: 100%;
    padding-block: calc(var(--_space) * 3);
  }

  .day > h3 {
    display: flex;
    justify-content: center;
    margin: calc(var(--_space) * 4) 0 calc(var(--_space) * 2);
  }

  .day > h3 span {
    border: 1px solid var(--_line);
    border-radius: var(--_radius-round);
    color: var(--_text-quiet);
    font-size: var(--_size-tiny);
    font-weight: 500;
    padding: 2px calc(var(--_space) * 3);
  }

  .unread {
    align-items: center;
    color: var(--_accent-text);
    display: flex;
    font-size: var(--_size-tiny);
    font-weight: 600;
    gap: calc(var(--_space) * 3);
    margin: calc(var(--_space) * 4) calc(var(--_space) * 4) 0;
  }

  .unread::before,
  .unread::after {
    background: color-mix(in oklab, var(--_accent) 45%, transparent);
    block-size: 1px;
    content: '';
    flex: 1;
  }

  .top {
    align-items: center;
    color: var(--_text-quiet);
    display: flex;
    flex-direction: column;
    font-size: var(--_size-small);
    gap: calc(var(--_space) * 2);
    padding: calc(var(--_space) * 4);
    text-align: center;
  }

  .empty {
    align-items: center;
    display: flex;
    flex: 1;
    flex-direction: column;
    gap: calc(var(--_space) * 1);
    justify-content: center;
    padding: calc(var(--_space) * 8);
    text-align: center;
  }

  .empty p {
    color: var(--_text-quiet);
    margin: 0;
  }

  .empty .lead {
    color: var(--_text);
    font-size: var(--_size-large);
    font-weight: 600;
  }

  .ghost {
    background: var(--_bubble);
    block-size: 2.5rem;
    border-radius: var(--_radius-bubble);
    inline-size: 55%;
    margin: calc(var(--_space) * 1.5) calc(var(--_space) * 4);
  }

  .ghost.own {
    align-self: flex-end;
    inline-size: 40%;
  }

  .ghost.tall {
    block-size: 4.5rem;
  }

  .to-latest {
    align-items: center;
    background: var(--_surface-raised);
    block-size: 2.75rem;
    border: 1px solid var(--_line);
    border-radius: 50%;
    box-shadow: var(--_shadow);
    color: var(--_text);
    display: flex;
    inline-size: 2.75rem;
    inset-block-end: calc(var(--_space) * 3);
    inset-inline-end: calc(var(--_space) * 5);
    justify-content: center;
    padding: 0;
    position: absolute;
    z-index: 2;
  }

  .new-above {
    align-items: center;
    background: var(--_surface-raised);
    border: 1px solid var(--_line);
    border-radius: 2rem;
    box-shadow: var(--_shadow);
    display: flex;
    inset-block-start: calc(var(--_space) * 3);
    inset-inline: 0;
    inline-size: fit-content;
    margin-inline: auto;
    position: absolute;
    z-index: 2;
  }

  .new-above .button {
    background: transparent;
    border: 0;
    border-radius: 2rem;
  }

  .up {
    display: inline-flex;
    rotate: 180deg;
  }

  .to-latest:hover {
    background: var(--_hover);
  }

  .to-latest .count {
    background: var(--_accent);
    border-radius: 99px;
    color: var(--_on-accent);
    font-size: var(--_size-tiny);
    font-weight: 650;
    inset-block-start: -0.5rem;
    line-height: 1.25rem;
    min-inline-size: 1.25rem;
    padding-inline: 0.3rem;
    position: absolute;
    text-align: center;
  }

  @media (prefers-reduced-motion: no-preference) {
    .ghost {
      animation: breathe 1.6s ease-in-out infinite alternate;
    }

    @keyframes breathe {
      to {
        opacity: 0.45;
      }
    }
  }
`;
