/** What stands in the list's place, or over it. */

import { html, nothing, type TemplateResult } from 'lit';

import type { Words } from '../i18n/index.ts';
import { icon } from '../look/icons.ts';
import type { Note } from './notes.ts';

const BONES = 8;

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
