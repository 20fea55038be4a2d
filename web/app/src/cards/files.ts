/** The files that a card delivers, shown when somebody asks for them. */

import type { Manifest } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { icon } from '../look/icons.ts';
import { GreenroomElement } from '../session/element.ts';
import { drawHash, drawLink } from './facts.ts';
import { cardLook } from './style.ts';

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];

@customElement('greenroom-card-files')
export class GreenroomCardFiles extends GreenroomElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    cardLook,
    css`
      .lines > li {
        display: block;
      }

      details[open] summary svg {
        transform: rotate(180deg);
      }
    `,
  ];

  @property({ attribute: false }) manifestId = '';
  @state() private manifest: Manifest | null = null;
  @state() private problem = '';

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    if (!changed.has('manifestId') || !this.hasUpdated) return;
    this.manifest = null;
    if (this.shadowRoot?.querySelector('details')?.open) void this.#load();
  }

  protected override render(): TemplateResult {
    const words = this.words.cards;
    const { manifest } = this;
    return html`<details @toggle=${this.#toggled}>
      <summary>
        ${icon('chevron')}${manifest ? words.filesCount(manifest.items.length) : words.showFiles}
      </summary>
      ${
        this.problem
          ? html`<p class="problem" role="alert">${this.problem}</p>
              <button class="button" @click=${this.#load}>${this.words.look.retry}</button>`
          : manifest
            ? this.#list(manifest)
            : html`<p class="quiet small">${this.words.look.loading}</p>`
      }
    </details>`;
  }

  #list({ items }: Manifest): TemplateResult {
    const words = this.words.cards;
    return html`<ul class="lines" aria-label=${words.files}>
      ${items.map(
        ({ name, url, bytes, sha256 }) =>
          html`<li>
            ${
              url.startsWith('https://')
                ? drawLink(words, url, name, 'document')
                : html`<bdi>${name}</bdi>`
            }
            <span class="quiet small">${this.#size(bytes)}</span>
            ${sha256 ? drawHash(words, sha256) : nothing}
          </li>`,
      )}
    </ul>`;
  }

  #size(bytes: number): string {
    const rank = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
    return new Intl.NumberFormat(this.format.locale, {
      style: 'unit',
      unit: UNITS[rank] ?? 'byte',
      unitDisplay: 'short',
      maximumFractionDigits: 1,
    }).format(bytes / 1000 ** rank);
  }

  readonly #toggled = (event: Event): void => {
    if ((event.target as HTMLDetailsElement).open && !this.manifest) void this.#load();
  };

  readonly #load = async (): Promise<void> => {
    const { session, manifestId } = this;
    if (!session) return;
    this.problem = '';
    try {
      const manifest = await session.client.rest.manifest(manifestId);
      if (manifestId === this.manifestId) this.manifest = manifest;
    } catch (error) {
      this.problem = session.explain(error);
    }
  };
}
