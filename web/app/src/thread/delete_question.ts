/** Asks before a message is deleted. Fetched when somebody wants to. */

import type { Message } from '@greenroom/sdk';
import { css, html, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';

import '../look/dialog.ts';
import { GreenroomElement } from '../session/element.ts';

/** Fires `close` with whether to delete it. */
@customElement('greenroom-delete-question')
export class GreenroomDeleteQuestion extends GreenroomElement {
  static override styles = [
    GreenroomElement.styles,
    css`
      p {
        margin: 0 0 calc(var(--_space) * 5);
      }

      div {
        display: flex;
        flex-wrap: wrap;
        gap: calc(var(--_space) * 2);
        justify-content: flex-end;
      }
    `,
  ];

  @property({ attribute: false }) message: Message | null = null;

  protected override render(): TemplateResult {
    const { thread, look } = this.words;
    return html`<greenroom-dialog
      ?open=${this.message !== null}
      .heading=${thread.deleteHeading}
      close-label=${look.close}
      @close=${() => this.#close(false)}
    >
      <p>${thread.deleteText}</p>
      <div>
        <button class="button" @click=${() => this.#close(false)}>${look.cancel}</button>
        <button class="button danger" @click=${() => this.#close(true)}>${thread.delete}</button>
      </div>
    </greenroom-dialog>`;
  }

  #close(isSure: boolean): void {
    this.dispatchEvent(new CustomEvent('close', { detail: isSure }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-delete-question': GreenroomDeleteQuestion;
  }
}
