/** What stands in the list's place, or over it. */

import { html, nothing, type TemplateResult } from 'lit';

import type { Words } from '../i18n/index.ts';
import { icon, type IconName } from '../look/icons.ts';

const BONES = 8;

/** Said at the bottom of the list for a while. */
export interface Note {
  readonly text: string;
  readonly undo: (() => void) | null;
}

/** Nothing is here, or nothing came: what it means, and what to do. */
export function stateTemplate(
  sign: IconName,
  title: string,
  text: string,
  action: TemplateResult | typeof nothing = nothing,
): TemplateResult {
  return html`<div class="state" part="state">
    <span class="sign">${icon(sign)}</span>
    <h3>${title}</h3>
    <p>${text}</p>
    ${action}
  </div>`;
}

/** Where rows will be. */
export function bones(loading: string): TemplateResult {
  const bone = html`<div class="bone">
    <i></i>
    <div><i></i><i></i></div>
  </div>`;
  return html`<span class="visually-hidden">${loading}</span>
    <div class="bones" aria-hidden="true">${Array.from({ length: BONES }, () => bone)}</div>`;
}

export function noteTemplate(note: Note, words: Words, close: () => void): TemplateResult {
  return html`<div class="note" part="note">
    <span>${note.text}</span>
    <span class="ends"
      >${
        note.undo
          ? html`<button class="button" @click=${note.undo}>${words.inbox.undo}</button>`
          : nothing
      }<button
        class="icon-button"
        aria-label=${words.look.close}
        title=${words.look.close}
        @click=${close}
      >
        ${icon('close')}
      </button></span
    >
  </div>`;
}
