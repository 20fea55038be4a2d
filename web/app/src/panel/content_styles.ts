import { css } from 'lit';

export const contentStyles = css`
  :host {
    display: block;
  }

  .content {
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 5);
  }

  h3,
  h4,
  p,
  ul,
  dl,
  dd {
    margin: 0;
    padding: 0;
  }

  h3,
  h4 {
    font-size: var(--_size);
    font-weight: 650;
    line-height: 1.35;
  }

  ul {
    list-style: none;
  }

  section > h3 {
    color: var(--_text-quiet);
    font-size: var(--_size-small);
    font-weight: 600;
    margin-block-end: calc(var(--_space) * 2);
  }

  .box {
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    padding: calc(var(--_space) * 4);
  }

  .legs,
  .cards {
    display: grid;
    gap: calc(var(--_space) * 4);
    grid-template-columns: minmax(0, 1fr);
  }

  .legs > li {
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 3);
  }

  .legs > li > .button {
    align-self: stretch;
  }

  .cards > li {
    display: flex;
    flex-direction: column;
    gap: var(--_space);
  }

  .cards greenroom-card {
    display: block;
  }

  .head {
    align-items: start;
    display: flex;
    flex-wrap: wrap;
    gap: calc(var(--_space) * 2) calc(var(--_space) * 3);
    justify-content: space-between;
  }

  .chip {
    border-radius: 1em;
    flex: none;
    font-size: var(--_size-tiny);
    font-weight: 600;
    line-height: 1.5rem;
    padding-inline: 0.625em;
    white-space: nowrap;
  }

  .line .chip {
    display: inline-block;
    margin-inline-start: var(--_space);
  }

  .chip.good {
    background: var(--_accent-soft);
    color: var(--_accent-text);
  }

  .chip.notice {
    background: var(--_notice-soft);
    color: var(--_notice);
  }

  .chip.bad {
    background: var(--_danger-soft);
    color: var(--_danger);
  }

  .chip.plain {
    background: var(--_surface-sunken);
    color: var(--_text-quiet);
  }

  .total {
    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 2);
  }

  .total .chip {
    margin-inline-start: auto;
  }

  .countdown {
    align-items: center;
    color: var(--_accent-text);
    display: flex;
    font-weight: 500;
    gap: calc(var(--_space) * 2);
  }

  .facts {
    display: grid;
    gap: calc(var(--_space) * 2.5) calc(var(--_space) * 4);
    grid-template-columns: fit-content(40%) minmax(0, 1fr);
  }

  dt {
    color: var(--_text-quiet);
  }

  .facts dd {
    display: flex;
    flex-direction: column;
    overflow-wrap: anywhere;
  }

  .facts dd.person {
    align-items: center;
    flex-direction: row;
    gap: calc(var(--_space) * 2);
  }

  greenroom-avatar {
    --avatar-size: 1.5rem;
  }

  .number {
    font-variant-numeric: tabular-nums;
    white-space: nowrap;
  }

  .tiers > div,
  .items > li {
    display: flex;
    flex-wrap: wrap;
    gap: 0 calc(var(--_space) * 4);
    justify-content: space-between;
    padding-block: calc(var(--_space) * 2);
  }

  /* Beside each other as long as there is room for some words. */
  .head > :first-child,
  .tiers > div > :first-child,
  .items > li > :first-child {
    flex: 1 1 7rem;
    min-inline-size: 0;
  }

  .tiers > div + div,
  .rows > li + li,
  .sums tr + tr {
    border-block-start: 1px solid var(--_line);
  }

  .tiers dd {
    flex: none;
    font-weight: 500;
    text-align: end;
  }

  .sums {
    border-collapse: separate;
    border-spacing: 0;
    inline-size: 100%;
    padding-block: calc(var(--_space) * 1.5);
  }

  .sums caption {
    font-weight: 650;
    margin-block-end: calc(var(--_space) * 2);
    text-align: start;
  }

  .sums th,
  .sums td {
    border-block-start: 1px solid var(--_line);
    font-weight: 400;
    padding-block: calc(var(--_space) * 2);
    text-align: start;
  }

  .sums tr:first-child > * {
    border-block-start: 0;
  }

  .sums td {
    padding-inline-start: calc(var(--_space) * 3);
    text-align: end;
  }

  .sums .paid > * {
    font-weight: 650;
  }

  .rows > li {
    padding-block: calc(var(--_space) * 2.5);
  }

  .rows > li:first-child {
    padding-block-start: 0;
  }

  .line {
    display: flex;
    gap: calc(var(--_space) * 3);
    justify-content: space-between;
  }

  .below {
    align-items: center;
    color: var(--_text-quiet);
    display: flex;
    flex-wrap: wrap;
    font-size: var(--_size-small);
    gap: 0 calc(var(--_space) * 3);
    justify-content: space-between;
  }

  .items {
    color: var(--_text-quiet);
    font-size: var(--_size-small);
    margin-block: calc(var(--_space) * 1);
    padding-inline-start: calc(var(--_space) * 3);
  }

  .items > li {
    padding-block: calc(var(--_space) * 0.5);
  }

  .tiny {
    font-size: var(--_size-tiny);
  }

  .link {
    align-items: center;
    align-self: start;
    background: transparent;
    border: 0;
    border-radius: var(--_radius-small);
    color: var(--_accent-text);
    display: inline-flex;
    font-size: var(--_size-small);
    font-weight: 500;
    gap: calc(var(--_space) * 0.5);
    min-block-size: 1.75rem;
    padding: 0;
    text-decoration: none;
  }

  .link:hover {
    text-decoration: underline;
  }

  .link .icon {
    block-size: 1em;
    inline-size: 1em;
  }

  .hint {
    background: var(--_notice-soft);
    border-radius: var(--_radius-small);
    color: var(--_notice);
    padding: calc(var(--_space) * 2.5) calc(var(--_space) * 3);
  }

  .hint .link {
    color: inherit;
  }

  .signers {
    display: grid;
    gap: calc(var(--_space) * 2.5);
  }

  .signers li {
    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 2.5);
  }

  .signers greenroom-avatar {
    --avatar-size: 2rem;
  }

  .who {
    display: flex;
    flex: 1;
    flex-direction: column;
    line-height: 1.3;
    min-inline-size: 0;
  }

  .done {
    color: var(--_accent-text);
    display: inline-flex;
  }

  .fingerprint {
    align-items: center;
    display: flex;
    flex-wrap: wrap;
    gap: 0 calc(var(--_space) * 2);
  }

  code {
    font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace;
    font-size: 0.95em;
  }

  .fingerprint .icon-button {
    block-size: 2rem;
    inline-size: 2rem;
  }

  .empty {
    align-items: center;
    color: var(--_text-quiet);
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 2);
    margin-block: calc(var(--_space) * 10) auto;
    margin-inline: auto;
    max-inline-size: 17rem;
    text-align: center;
    text-wrap: balance;
  }

  .empty h3 {
    color: var(--_text);
    font-size: var(--_size-large);
  }

  .emblem {
    align-items: center;
    background: var(--_accent-soft);
    block-size: 4rem;
    border-radius: 50%;
    color: var(--_accent-text);
    display: flex;
    inline-size: 4rem;
    justify-content: center;
    margin-block-end: calc(var(--_space) * 2);
  }

  .emblem .icon {
    block-size: 1.75rem;
    inline-size: 1.75rem;
  }

  @media (pointer: coarse) {
    .link {
      min-block-size: 2.75rem;
    }

    .fingerprint .icon-button {
      block-size: 2.75rem;
      inline-size: 2.75rem;
    }
  }

  @media (forced-colors: active) {
    .chip {
      border: 1px solid;
    }
  }
`;
