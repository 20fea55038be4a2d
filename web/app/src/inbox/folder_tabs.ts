/** The folders in a row that scrolls sideways where it is longer than the list is wide. */

import type { Folder } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { icon } from '../look/icons.ts';
import { GreenroomElement } from '../session/element.ts';
import type { UnreadCounts } from './counts.ts';
import { FOLDERS } from './folders.ts';

/** Where the strip fades out, in pixels. */
const EDGE = 40;
/** How much of a tab is all of it, whatever the browser rounds. */
const WHOLE = 0.98;

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
        gap: var(--_space);
        overflow-x: auto;
        overscroll-behavior-x: contain;
        padding: 5px calc(var(--_space) * 3);
        scrollbar-width: none;
      }

      .cut-after {
        mask-image: linear-gradient(to var(--end), #000 calc(100% - 4rem), transparent var(--seen));
      }

      .cut-before {
        mask-image: linear-gradient(
          to var(--start),
          #000 calc(100% - 4rem),
          transparent var(--seen)
        );
      }

      .cut-before.cut-after {
        mask-image: linear-gradient(
          to right,
          transparent calc(100% - var(--seen)),
          #000 4rem,
          #000 calc(100% - 4rem),
          transparent var(--seen)
        );
      }

      [role='tablist'] {
        --start: left;
        --end: right;
        /* Where the arrow stands nothing shows beside it. */
        --seen: calc(100% - 2.25rem);
      }

      :host([dir='rtl']) [role='tablist'] {
        --start: right;
        --end: left;
      }

      [role='tab'] {
        align-items: center;
        background: transparent;
        border: 1px solid transparent;
        border-radius: 2rem;
        color: var(--_text-quiet);
        display: inline-flex;
        flex: none;
        font-size: var(--_size-small);
        font-weight: 500;
        gap: calc(var(--_space) * 1.5);
        min-block-size: 2rem;
        padding-inline: calc(var(--_space) * 3);
        /* What is hidden in it for screen readers scrolls with it, not beside it. */
        position: relative;
        white-space: nowrap;
      }

      [role='tab']:hover {
        background: var(--_hover);
        color: var(--_text);
      }

      [role='tab'][aria-selected='true'] {
        background: var(--_accent-soft);
        color: var(--_accent);
        font-weight: 600;
      }

      .count {
        font-variant-numeric: tabular-nums;
        font-weight: 650;
      }

      .nudge {
        align-items: center;
        background: var(--_surface-raised);
        block-size: 1.75rem;
        border: 1px solid var(--_line);
        border-radius: 50%;
        color: var(--_text-quiet);
        display: flex;
        inline-size: 1.75rem;
        inset-block: 0;
        justify-content: center;
        margin-block: auto;
        padding: 0;
        position: absolute;
      }

      .nudge.after {
        inset-inline-end: calc(var(--_space) * 2);
      }

      .nudge.before {
        inset-inline-start: calc(var(--_space) * 2);
      }

      @media (prefers-reduced-motion: no-preference) {
        [role='tablist'] {
          scroll-behavior: smooth;
        }
      }

      @media (forced-colors: active) {
        [role='tab'][aria-selected='true'] {
          border-color: Highlight;
        }
      }

      @media (pointer: coarse) {
        [role='tablist'] {
          --seen: 100%;
        }

        [role='tab'] {
          min-block-size: 2.75rem;
        }

        .nudge {
          display: none;
        }
      }
    `,
  ];

  @property() folder: Folder = 'all';
  @property({ attribute: false }) counts: UnreadCounts | null = null;
  /** The one that the arrow keys have reached. */
  @state() private reached: Folder | null = null;
  @state() private isCutBefore = false;
  @state() private isCutAfter = false;
  @query('[role=tablist]') private strip!: HTMLElement;
  readonly #resized = new ResizeObserver(() => this.#see(this.folder));

  protected override render(): TemplateResult {
    const cut = [this.isCutBefore && 'cut-before', this.isCutAfter && 'cut-after'];
    return html`<div
        role="tablist"
        class=${cut.filter(Boolean).join(' ')}
        aria-label=${this.words.inbox.folderList}
        @keydown=${this.#key}
      >
        ${FOLDERS.map((folder) => this.#tab(folder))}
      </div>
      ${this.isCutBefore ? this.#nudge(-1) : nothing} ${this.isCutAfter ? this.#nudge(1) : nothing}`;
  }

  #tab(folder: Folder): TemplateResult {
    const words = this.words.inbox;
    const count = this.counts?.[folder] ?? 0;
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
              ><span class="visually-hidden">, ${words.unreadThreads(count)}</span>`
          : nothing
      }
    </button>`;
  }

  /** For a mouse, which cannot scroll sideways; keys and fingers can. */
  #nudge(way: 1 | -1): TemplateResult {
    return html`<button
      class="nudge ${way > 0 ? 'after' : 'before'}"
      tabindex="-1"
      aria-hidden="true"
      @click=${() => this.#scrollBy(way)}
    >
      ${icon(way > 0 ? 'forward' : 'back')}
    </button>`;
  }

  /** Observers tell after the browser has laid the page out: to measure here would make it do so
   * once more. */
  protected override firstUpdated(): void {
    this.#resized.observe(this.strip);
    const cut = new IntersectionObserver((entries) => this.#cut(entries), {
      root: this.strip,
      threshold: WHOLE,
    });
    const { firstElementChild, lastElementChild } = this.strip;
    for (const end of [firstElementChild, lastElementChild]) if (end) cut.observe(end);
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.get('folder')) this.#see(this.folder);
  }

  #tabOf(folder: Folder): HTMLElement | null {
    return this.strip.querySelector(`[data-folder=${folder}]`);
  }

  /** Only the strip scrolls: the page around may be scrolled by somebody else. */
  #see(folder: Folder): void {
    const tab = this.#tabOf(folder)?.getBoundingClientRect();
    const strip = this.strip.getBoundingClientRect();
    const isSeen = tab && tab.left >= strip.left + EDGE && tab.right <= strip.right - EDGE;
    if (!tab || isSeen) return;
    this.strip.scrollBy({ left: tab.left + tab.width / 2 - strip.left - strip.width / 2 });
  }

  #choose(folder: Folder): void {
    this.reached = null;
    this.dispatchEvent(new CustomEvent('folder-chosen', { detail: folder }));
  }

  #scrollBy(way: 1 | -1): void {
    const sign = getComputedStyle(this).direction === 'rtl' ? -1 : 1;
    this.strip.scrollBy({ left: way * sign * this.strip.clientWidth * 0.7 });
  }

  /** Of the first and the last tab: whether all of it can be seen. */
  #cut(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, intersectionRatio } of entries) {
      const isCut = intersectionRatio < WHOLE;
      if (target === this.strip.firstElementChild) this.isCutBefore = isCut;
      else this.isCutAfter = isCut;
    }
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
    this.#see(folder);
    void this.updateComplete.then(() => this.#tabOf(folder)?.focus({ preventScroll: true }));
  };
}
