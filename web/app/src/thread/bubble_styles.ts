import { css } from 'lit';

export const bubbleStyles = css`
  .row {
    --avatar-size: 2rem;

    align-items: flex-end;
    border-radius: var(--_radius);
    display: flex;
    gap: calc(var(--_space) * 2);
    margin-block-start: 2px;
    outline-offset: -2px;
    padding-inline: calc(var(--_space) * 4);
    position: relative;
  }

  .row.first {
    margin-block-start: calc(var(--_space) * 3);
  }

  .row.card,
  .row.card + .row {
    margin-block-start: calc(var(--_space) * 2);
  }

  .row greenroom-avatar,
  .no-avatar {
    flex: none;
    inline-size: 2rem;
  }

  .row.last greenroom-avatar {
    margin-block-end: 1.375rem;
  }

  .column {
    align-items: flex-start;
    display: flex;
    flex: 1;
    flex-direction: column;
    min-inline-size: 0;
  }

  .own .column {
    align-items: flex-end;
  }

  .name {
    color: var(--_text-quiet);
    font-size: var(--_size-tiny);
    font-weight: 600;
    padding: 0 calc(var(--_space) * 3.5) calc(var(--_space) * 0.5);
  }

  .line {
    align-items: center;
    position: relative;
    display: flex;
    gap: calc(var(--_space) * 1);
    inline-size: 100%;
  }

  .own .line {
    flex-direction: row-reverse;
  }

  .bubble {
    --_tip: calc(var(--_radius-bubble) * 0.28);

    background: var(--_bubble);
    border-radius: var(--_radius-bubble);
    max-inline-size: min(34rem, 82%);
    min-inline-size: 0;
    overflow-wrap: anywhere;
    padding: calc(var(--_space) * 2) calc(var(--_space) * 3.5);
  }

  .own .bubble {
    background: var(--_bubble-own);
    color: var(--_on-bubble-own);
  }

  .plain {
    white-space: pre-wrap;
  }

  .other .bubble {
    border-start-start-radius: var(--_tip);
    border-end-start-radius: var(--_tip);
  }

  .own .bubble {
    border-start-end-radius: var(--_tip);
    border-end-end-radius: var(--_tip);
  }

  .other.first .bubble {
    border-start-start-radius: var(--_radius-bubble);
  }

  .own.first .bubble {
    border-start-end-radius: var(--_radius-bubble);
  }

  .bubble.large {
    background: none;
    font-size: 2.5rem;
    line-height: 1.2;
    padding: 0;
  }

  .bubble.files {
    padding: 4px;
  }

  .files .rich,
  .files .plain,
  .files .quote {
    margin: calc(var(--_space) * 1.5) calc(var(--_space) * 2.5);
  }

  .files .quote {
    inline-size: auto;
    min-inline-size: 0;
  }

  .bubble.gone {
    align-items: center;
    background: none;
    border: 1px dashed var(--_line-strong);
    color: var(--_text-quiet);
    display: flex;
    font-style: italic;
    gap: calc(var(--_space) * 1.5);
  }

  .card-slot {
    flex: 0 1 26rem;
    max-inline-size: 100%;
    min-inline-size: 0;
  }

  .pending:not(.failed) .bubble {
    opacity: 0.72;
  }

  .failed .bubble {
    background: var(--_danger-soft);
    color: var(--_text);
  }

  .meta,
  .failure p {
    align-items: center;
    color: var(--_text-quiet);
    display: flex;
    font-size: var(--_size-tiny);
    gap: var(--_space);
    min-block-size: 1.125rem;
    padding-inline: calc(var(--_space) * 3.5);
  }

  .last .meta {
    margin-block-start: 2px;
  }

  .failure {
    align-items: center;
    display: flex;
    flex-wrap: wrap;
    gap: calc(var(--_space) * 1);
    justify-content: flex-end;
    margin-block-start: var(--_space);
    max-inline-size: min(34rem, 100%);
  }

  .failure p {
    color: var(--_danger);
    flex-basis: 100%;
    justify-content: flex-end;
    margin: 0;
  }

  .meta svg.icon {
    block-size: 1em;
    inline-size: 1em;
  }

  .ticks {
    block-size: 0.85rem;
    fill: none;
    flex: none;
    inline-size: 1.2rem;
    stroke: currentcolor;
    stroke-linecap: round;
    stroke-linejoin: round;
    stroke-width: 1.6;
  }

  .ticks.read {
    stroke: var(--_on-accent);
  }

  .ticks.read rect {
    fill: var(--_accent);
    stroke: none;
  }

  .quote {
    background: color-mix(in oklab, currentcolor 7%, transparent);
    border: 0;
    border-inline-start: 3px solid var(--_accent);
    border-radius: calc(var(--_radius-small) * 0.75);
    display: block;
    font-size: var(--_size-small);
    inline-size: 100%;
    margin-block-end: calc(var(--_space) * 1.5);
    min-block-size: 1.75rem;
    padding: var(--_space) calc(var(--_space) * 2);
    text-align: start;
    white-space: normal;
  }

  .quote strong {
    display: block;
    font-weight: 600;
  }

  .quote span {
    -webkit-box-orient: vertical;
    -webkit-line-clamp: 2;
    display: -webkit-box;
    overflow: hidden;
  }

  .rich > * {
    margin-block: 0 0.5em;
  }

  .rich > :last-child {
    margin-block-end: 0;
  }

  .rich ul,
  .rich ol {
    padding-inline-start: 1.4em;
  }

  .rich blockquote {
    border-inline-start: 3px solid color-mix(in oklab, currentcolor 25%, transparent);
    margin-inline: 0;
    padding-inline-start: 0.75em;
  }

  .rich blockquote > :last-child,
  .rich li > :last-child {
    margin-block-end: 0;
  }

  .rich code {
    background: color-mix(in oklab, currentcolor 9%, transparent);
    border-radius: 4px;
    font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace;
    font-size: 0.9em;
    padding: 0.1em 0.3em;
  }

  .rich pre {
    overflow-x: auto;
  }

  .rich pre code {
    display: block;
    padding: 0.6em 0.8em;
    white-space: pre-wrap;
  }

  .rich a {
    color: inherit;
    text-decoration-color: color-mix(in oklab, currentcolor 50%, transparent);
    text-underline-offset: 0.15em;
  }

  .rich a:hover {
    text-decoration-color: currentcolor;
  }

  .rich .host {
    color: var(--_text-quiet);
    font-size: var(--_size-small);
  }

  .notice {
    justify-content: center;
    margin-block: calc(var(--_space) * 3);
  }

  .notice > p,
  .notice .said {
    color: var(--_text-quiet);
    font-size: var(--_size-small);
    margin: 0;
    max-inline-size: 32rem;
    padding: var(--_space) calc(var(--_space) * 3);
    text-align: center;
  }

  .notice time {
    font-size: var(--_size-tiny);
    margin-inline-start: var(--_space);
    white-space: nowrap;
  }

  .tools {
    align-items: center;
    display: flex;
    flex: none;
  }

  .tools .icon-button {
    block-size: 2rem;
    inline-size: 2rem;
  }

  /* Beside the bubble where there is room, over its corner where there is not. */
  @container (max-width: 36rem) {
    .tools {
      background: var(--_surface-raised);
      border: 1px solid var(--_line);
      border-radius: var(--_radius-round);
      box-shadow: var(--_shadow);
      inset-block-end: calc(100% - 0.75rem);
      inset-inline-start: 0.5rem;
      padding-inline: var(--_space);
      position: absolute;
      z-index: 2;
    }

    .own .tools {
      inset-inline: auto 0.5rem;
    }

    /* Of two people it is clear who the other is. */
    .pair greenroom-avatar,
    .pair .no-avatar {
      display: none;
    }

    .bubble {
      max-inline-size: min(34rem, 86%);
    }
  }

  .flash::before {
    background: var(--_accent-soft);
    border-radius: var(--_radius);
    content: '';
    inset: -3px 0;
    position: absolute;
    z-index: -1;
  }

  @media (prefers-reduced-motion: no-preference) {
    .flash::before {
      animation: flash 2.4s ease-out forwards;
    }

    @keyframes flash {
      60% {
        opacity: 1;
      }

      to {
        opacity: 0;
      }
    }
  }

  @media (forced-colors: active) {
    .bubble {
      border: 1px solid CanvasText;
    }

    .ticks.read {
      stroke: Canvas;
    }

    .ticks.read rect {
      fill: CanvasText;
    }
  }

  @media (pointer: coarse) {
    .failure .button {
      min-block-size: 2.75rem;
    }

    .tools .icon-button {
      block-size: 2.75rem;
      inline-size: 2.75rem;
    }

    /* They stay until something else is touched, so they lie over the beginning of their own
       message: they cover no other one and no button, and nothing moves when they go. */
    @container (max-width: 36rem) {
      .tools,
      .own .tools {
        inset-block: 0.25rem auto;
        inset-inline: 0.5rem auto;
      }
    }

    /* A long press opens the menu, which can copy. */
    .bubble {
      -webkit-touch-callout: none;
      user-select: none;
    }
  }
`;
