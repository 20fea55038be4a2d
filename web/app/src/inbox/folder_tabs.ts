/** The folders. They wrap where the list is narrow, so that none is out of sight. */

import type { Folder } from '@greenroom/sdk';
import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { GreenroomElement } from '../session/element.ts';
import type { InboxCounts } from './counts.ts';
import { FOLDERS } from './folders.ts';

/** Fires `folder-chosen` with the folder. */
@customElement('greenroom-folder-tabs')
export class GreenroomFolderTabs extends GreenroomElement {
  static override styles = [
    GreenroomElement.styles,
    css`
      :host {
        display: block;
        position: relative;
      }

      [role='tablist'] {
        display: flex;
        flex-wrap: wrap;
        gap: 2px;
        padding: 2px calc(var(--_space) * 3) 5px;
      }

      [role='tab'] {
        align-items: center;
        background: transparent;
        border: 1px solid transparent;
        border-radius: var(--_radius-round);
        color: var(--_text-quiet);
        display: inline-flex;
        flex: none;
        font-size: var(--_size-small);
        font-weight: 500;
        gap: calc(var(--_space) * 1.5);
        min-block-size: 2rem;
        padding-inline: calc(var(--_space) * 2.5);
        /* What is hidden in it for screen readers stays in it. */
        position: relative;
        white-space: nowrap;
      }

      [role='tab']:hover {
        background: var(--_hover);
        color: var(--_text);
      }

      [role='tab'][aria-selected='true'] {
        background: var(--_accent-soft);
        color: var(--_accent-text);
        font-weight: 600;
      }

      .count {
        font-variant-numeric: tabular-nums;
        font-weight: 650;
      }

      @media (forced-colors: active) {
        [role='tab'][aria-selected='true'] {
          border-color: Highlight;
        }
      }

      @media (pointer: coarse) {
        [role='tab'] {
          min-block-size: 2.75rem;
        }
      }
    `,
  ];

  @property() folder: Folder = 'all';
  @property({ attribute: false }) counts: InboxCounts | null = null;
  /** The one that the arrow keys have reached. */
  @state() private reached: Folder | null = null;
  @query('[role=tablist]') private strip!: HTMLElement;

  protected override render(): TemplateResult {
    return html`<div role="tablist" aria-label=${this.words.inbox.folderList} @keydown=${this.#key}>
      ${FOLDERS.map((folder) => this.#tab(folder))}
    </div>`;
  }

  #tab(folder: Folder): TemplateResult {
    const words = this.words.inbox;
    const count = this.counts?.[folder] ?? 0;
    const meaning = folder === 'action' ? words.waitingThreads : words.unreadThreads;
    const isFocusable = folder === (this.reached ?? this.folder);
    return html`<button
      role="tab"
      part="tab"
      data-folder=${folder}
      aria-selected=${folder === this.folder}
      tabindex=${isFocusable ? 0 : -1}
      @click=${() => this.#choose(folder)}
    >
      ${words.folders[folder]}
      ${
        count > 0
          ? html`<span class="count" aria-hidden="true">${this.format.number(count)}</span
              ><span class="visually-hidden">, ${meaning(count)}</span>`
          : nothing
      }
    </button>`;
  }

  #tabOf(folder: Folder): HTMLElement | null {
    return this.strip.querySelector(`[data-folder=${folder}]`);
  }

  #choose(folder: Folder): void {
    this.reached = null;
    this.dispatchEvent(new CustomEvent('folder-chosen', { detail: folder }));
  }

  readonly #key = (event: KeyboardEvent): void => {
    const isRtl = getComputedStyle(this).direction === 'rtl';
    const at = FOLDERS.indexOf(this.reached ?? this.folder);
    const moves: Record<string, number> = {
      ArrowRight: at + (isRtl ? -1 : 1),
      ArrowLeft: at + (isRtl ? 1 : -1),
      Home: 0,
      End: FOLDERS.length - 1,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const folder = FOLDERS[(next + FOLDERS.length) % FOLDERS.length] as Folder;
    this.reached = folder;
    void this.updateComplete.then(() => this.#tabOf(folder)?.focus());
  };
}
