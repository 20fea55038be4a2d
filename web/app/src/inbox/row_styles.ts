/** How the rows of the inbox look. */

import { css } from 'lit';

export const rowStyles = css`
  :host {
    --_row: var(--gr-row-height, 4.5rem);
    display: flex;
    flex: 1;
    flex-direction: column;
    min-block-size: 0;
    position: relative;
  }

  .scroll {
    flex: 1;
    min-block-size: 0;
    overflow-x: hidden;
    overflow-y: auto;
    overscroll-behavior-y: contain;
    scrollbar-gutter: stable;
    scrollbar-width: thin;
  }

  .ruler {
    block-size: var(--_row);
    inline-size: 0;
    position: absolute;
    visibility: hidden;
  }

  ul {
    contain: layout style;
    list-style: none;
    margin: 0;
    padding: 0;
    position: relative;
  }

  li {
    block-size: var(--_row);
    contain: layout style;
    inset-block-start: 0;
    inset-inline: 0;
    padding: 1px calc(var(--_space) * 2);
    position: absolute;
  }

  .open {
    align-items: center;
    background: transparent;
    block-size: 100%;
    border: 1px solid transparent;
    border-radius: var(--_radius);
    display: flex;
    gap: calc(var(--_space) * 3);
    inline-size: 100%;
    min-inline-size: 0;
    padding: 0 calc(var(--_space) * 2.5);
    text-align: start;
  }

  .open:focus-visible {
    outline-offset: -2px;
  }

  li:hover .open,
  li.menu-open .open {
    background: var(--_hover);
  }

  .open[aria-current='true'],
  li:hover .open[aria-current='true'] {
    background: var(--_accent-soft);
  }

  greenroom-avatar {
    --avatar-size: 2.875rem;
  }

  .text {
    display: flex;
    flex: 1;
    flex-direction: column;
    gap: 1px;
    line-height: 1.3;
    min-inline-size: 0;
  }

  .text > span {
    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 1.5);
    min-inline-size: 0;
  }

  .cut {
    flex: 1;
    min-inline-size: 0;
    overflow: hidden;
    /* What people write may run the other way than the list; it begins on the list's side. */
    text-align: -webkit-match-parent;
    text-align: match-parent;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  .name {
    font-weight: 500;
  }

  .name .cut {
    flex: 0 1 auto;
  }

  .subject,
  .said {
    font-size: var(--_size-small);
  }

  .subject,
  .said,
  time,
  .marks {
    color: var(--_text-quiet);
  }

  .unread .name {
    font-weight: 700;
  }

  .unread .said .cut {
    color: var(--_text);
  }

  .unread time {
    color: var(--_accent-text);
    font-weight: 600;
  }

  .quiet-said {
    font-style: italic;
  }

  .typing,
  .unread .said .typing {
    color: var(--_accent-text);
  }

  .draft {
    color: var(--_accent-text);
    flex: none;
    font-weight: 600;
  }

  time {
    flex: none;
    font-size: var(--_size-tiny);
    font-variant-numeric: tabular-nums;
    font-weight: 400;
    margin-inline-start: auto;
    white-space: nowrap;
  }

  .marks {
    display: inline-flex;
    flex: none;
    gap: calc(var(--_space) * 1);
  }

  .marks svg.icon {
    block-size: 0.95em;
    inline-size: 0.95em;
  }

  .marks .starred svg {
    fill: currentcolor;
  }

  .badge {
    border: 1px solid var(--_line);
    border-radius: 1rem;
    color: var(--_text-quiet);
    flex: none;
    font-size: var(--_size-tiny);
    line-height: 1.35;
    padding-inline: calc(var(--_space) * 1.75);
  }

  .badge.action {
    background: var(--_notice-soft);
    border-color: transparent;
    color: var(--_notice);
    font-weight: 600;
  }

  .pill {
    background: var(--_accent);
    border: 1px solid transparent;
    border-radius: 1em;
    color: var(--_on-accent);
    flex: none;
    font-size: var(--_size-tiny);
    font-variant-numeric: tabular-nums;
    font-weight: 650;
    line-height: 1.4;
    min-inline-size: 1.7em;
    padding-inline: 0.4em;
    text-align: center;
  }

  .muted .pill {
    background: var(--_text-quiet);
    color: var(--_surface);
  }

  .ticks {
    display: inline-flex;
    flex: none;
  }

  .ticks svg {
    block-size: 0.95em;
    fill: none;
    stroke: currentcolor;
    stroke-linecap: round;
    stroke-linejoin: round;
    stroke-width: 1.75;
  }

  .ticks.read {
    color: var(--_accent-text);
  }

  .ticks.read svg {
    stroke-width: 2.75;
  }

  .ticks.failed {
    color: var(--_danger);
  }

  /* It takes the place of the time: badges and counts stay to be read. */
  .more {
    block-size: 1.75rem;
    inline-size: 1.75rem;
    inset-block-start: calc(var(--_space) * 1.25);
    inset-inline-end: calc(var(--_space) * 4);
    opacity: 0;
    position: absolute;
  }

  .more:hover {
    background: var(--_line);
  }

  li:hover .more,
  .more:focus-visible,
  .more[aria-expanded='true'],
  .open:focus-visible + .more {
    opacity: 1;
  }

  @media (not (pointer: coarse)) {
    li:hover time,
    li:has(.more:focus-visible, .more[aria-expanded='true'], .open:focus-visible) time {
      opacity: 0;
    }
  }

  .end {
    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 2);
    justify-content: center;
    min-block-size: 3.5rem;
    padding: calc(var(--_space) * 2) calc(var(--_space) * 4);
    text-align: center;
  }

  @media (pointer: coarse) {
    .open {
      padding-inline-end: calc(var(--_space) * 10);
    }

    .more {
      block-size: 2.75rem;
      inline-size: 2.75rem;
      inset-block: 0;
      inset-inline-end: calc(var(--_space) * 1.5);
      margin-block: auto;
      opacity: 1;
    }
  }

  @media (forced-colors: active) {
    .open[aria-current='true'] {
      border-color: Highlight;
    }
  }

  @container (max-width: 22rem) {
    .open {
      gap: calc(var(--_space) * 2.5);
      padding-inline-start: calc(var(--_space) * 1.5);
    }

    greenroom-avatar {
      --avatar-size: 2.5rem;
    }
  }

  /* With very large letters the words need the room. */
  @container (max-width: 16rem) {
    greenroom-avatar {
      display: none;
    }
  }

  /* The subject matters more than a second badge. */
  @container (max-width: 26rem) {
    .badge.action + .badge {
      display: none;
    }
  }
`;
