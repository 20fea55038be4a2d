/** Under a message that waits for its files: how far they are, and which of them were refused. */

import type { Send, SendFile, Upload } from '@greenroom/sdk';
import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';

import { icon } from '../look/icons.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { FilesElement } from './element.ts';
import { percentOf } from './media.ts';

/** Fires `without` when the rest is to be sent. */
@customElement('greenroom-send-state')
export class GreenroomSendState extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        align-items: center;
        display: flex;
        flex-wrap: wrap;
        font-variant-numeric: tabular-nums;
        gap: calc(var(--_space) * 1);
        justify-content: flex-end;
      }

      svg.icon {
        block-size: 1em;
        inline-size: 1em;
      }

      progress {
        accent-color: var(--_accent);
        block-size: 4px;
        inline-size: 5rem;
      }

      ul {
        flex-basis: 100%;
        list-style: none;
        margin: 0;
        padding: 0;
      }

      li {
        color: var(--_danger);
        font-size: var(--_size-tiny);
        overflow-wrap: anywhere;
        text-align: end;
      }

      @media (pointer: coarse) {
        .button {
          min-block-size: 2.75rem;
        }
      }
    `,
  ];

  @property({ attribute: false }) send: Send | null = null;
  /** What is said while nothing is on its way. */
  @property({ attribute: false }) otherwise = '';

  protected override joined(session: Session): Stop[] {
    const stop = this.works?.onChange(() => this.requestUpdate());
    return [...super.joined(session), stop ?? (() => {})];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { send } = this;
    if (!send) return nothing;
    return send.state === 'failed' ? this.#refused(send) : this.#progress(send);
  }

  #uploadOf({ uploadId }: SendFile): Upload | undefined {
    return uploadId ? this.works?.uploads.find(uploadId) : undefined;
  }

  #progress({ files = [] }: Send): TemplateResult {
    const uploads = files.flatMap((file) => this.#uploadOf(file) ?? []);
    const percent = percentOf(uploads);
    if (percent === null) return html`${icon('clock')}<span>${this.otherwise}</span>`;
    const text = this.fileWords.uploading(this.format.percent(percent));
    return html`<progress max="100" .value=${percent} aria-label=${text}></progress>
      <span>${text}</span>`;
  }

  #refused({ files = [], body }: Send): TemplateResult | typeof nothing {
    const words = this.fileWords;
    const refused = files.filter(({ problem }) => problem);
    const hasRest = body !== '' || refused.length < files.length;
    if (refused.length === 0) return nothing;
    return html`<ul>
        ${refused.map((file) => {
          const name = this.#uploadOf(file)?.name ?? words.photo;
          const why = words.problems[file.problem?.code ?? ''] ?? words.failed;
          return html`<li><bdi>${name}</bdi>: ${why}</li>`;
        })}
      </ul>
      ${
        hasRest
          ? html`<button
              class="button small"
              @click=${() => this.dispatchEvent(new Event('without'))}
            >
              ${words.sendWithout(refused.length)}
            </button>`
          : nothing
      }`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-send-state': GreenroomSendState;
  }
}
