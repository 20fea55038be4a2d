/** The files that a card delivers, shown when somebody asks for them. */

import type { Manifest } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { sizeText } from '../files/media.ts';
import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import { GreenroomElement } from '../session/element.ts';
import { drawHash, drawLink } from './facts.ts';
import { cardLook } from './style.ts';

@customElement('greenroom-card-files')
export class GreenroomCardFiles extends GreenroomElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    cardLook,
    css`
      .lines > li {
        display: block;
      }

      .checksum {
        align-items: center;
        display: flex;
      }

      details[open] summary svg {
        transform: rotate(180deg);
      }
    `,
  ];

  @property({ attribute: false }) manifestId = '';
  @state() private manifest: Manifest | null = null;
  @state() private problem = '';
  @state() private copied = '';

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
            <span class="quiet small">${sizeText(bytes, this.format.locale)}</span>
            ${sha256 ? this.#checksum(sha256) : nothing}
          </li>`,
      )}
    </ul>`;
  }

  #checksum(sha256: string): TemplateResult {
    const words = this.words.cards;
    const label = this.copied === sha256 ? words.copied : words.copyFingerprint;
    return html`<div class="checksum">
      ${drawHash(words, sha256)}
      <button
        type="button"
        class="icon-button"
        aria-label=${label}
        title=${label}
        @click=${() => void this.#copy(sha256)}
      >
        ${icon(this.copied === sha256 ? 'check' : 'copy')}
      </button>
    </div>`;
  }

  async #copy(sha256: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(sha256);
      this.copied = sha256;
      announce(this.words.cards.copied);
    } catch {
      announce(this.words.thread.copyFailed);
    }
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
