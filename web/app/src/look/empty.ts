/** What stands where nothing is: a quiet picture, what it means, and what to do next. */

import { css, html, nothing, type TemplateResult } from 'lit';

import { icon, type IconName } from './icons.ts';

type Part = TemplateResult | typeof nothing;

export function emptyState(
  sign: IconName,
  title: string,
  text: string,
  action: Part = nothing,
): TemplateResult {
  return html`<div class="state" part="state">
    <span class="art" aria-hidden="true"><i></i><i></i>${icon(sign)}</span>
    <h3>${title}</h3>
    ${text ? html`<p>${text}</p>` : nothing} ${action}
  </div>`;
}

/** Two bubbles as in a conversation, with the corners and colours that the page has chosen. */
export const emptyStyles = css`
  .state {
    align-items: center;
    display: flex;
    flex: 1;
    flex-direction: column;
    gap: calc(var(--_space) * 2);
    justify-content: safe center;
    margin-inline: auto;
    max-inline-size: 23rem;
    min-block-size: 0;
    overflow-y: auto;
    padding: calc(var(--_space) * 6);
    text-align: center;
    text-wrap: balance;
  }

  .state h3 {
    font-size: var(--_size-large);
    font-weight: 650;
    margin: 0;
  }

  .state p {
    color: var(--_text-quiet);
    margin: 0;
    overflow-wrap: anywhere;
  }

  .state .button {
    margin-block-start: calc(var(--_space) * 2);
  }

  .art {
    block-size: 5.5rem;
    display: block;
    flex: none;
    inline-size: 8rem;
    margin-block-end: calc(var(--_space) * 3);
    position: relative;
  }

  .art i {
    block-size: 3.25rem;
    border-radius: var(--_radius-bubble);
    inline-size: 5rem;
    position: absolute;
  }

  .art i:first-child {
    background:
      linear-gradient(var(--_line), var(--_line)) 0.875rem 1rem / 2.5rem 0.25rem no-repeat,
      linear-gradient(var(--_line), var(--_line)) 0.875rem 1.75rem / 1.625rem 0.25rem no-repeat,
      var(--_bubble);
    border-end-start-radius: calc(var(--_radius-bubble) * 0.28);
    inset-block-start: 0;
    inset-inline-start: 0;
  }

  .art i + i {
    background: var(--_bubble-own);
    border-end-end-radius: calc(var(--_radius-bubble) * 0.28);
    box-shadow: 0 0 0 4px var(--_surface);
    inset-block-end: 0;
    inset-inline-end: 0;
  }

  .art svg.icon {
    block-size: 1.5rem;
    color: var(--_on-bubble-own);
    inline-size: 1.5rem;
    inset-block-end: 0.875rem;
    inset-inline-end: 1.75rem;
    position: absolute;
  }

  @media (forced-colors: active) {
    .art i {
      border: 1px solid;
    }
  }
`;
