/** A payment that the buyer's bank wants to have confirmed, such as by 3-D Secure. */

import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { GreenroomElement } from '../session/element.ts';
import { cardLook } from './style.ts';

/** Fires `greenroom-confirm-payment` when the payer presses its button: a page that has the payment
 * provider's script prevents the default and confirms there. Else the marketplace's page is opened,
 * if the server knows one. */
@customElement('greenroom-confirm-payment')
export class GreenroomConfirmPayment extends GreenroomElement {
  static override styles = [...([GreenroomElement.styles].flat() as []), cardLook];

  @property({ attribute: false }) paymentId = '';
  /** Whether the reader is the one who pays. */
  @property({ type: Boolean }) own = false;
  @state() private isBusy = false;
  @state() private problem = '';

  protected override render(): TemplateResult {
    const words = this.words.cards;
    if (!this.own) return html`<p class="quiet small">${words.bankAsksBuyer}</p>`;
    return html`<div class="ask box" role="group" aria-labelledby="asks">
      <p id="asks"><strong>${words.bankAsks}</strong> ${words.bankAsksHint}</p>
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
      <div class="actions">
        <button
          class="button primary"
          ?disabled=${this.isBusy}
          aria-busy=${this.isBusy}
          @click=${this.#confirm}
        >
          ${this.isBusy ? html`<span class="spinner"></span>` : nothing}${words.confirmWithBank}
        </button>
      </div>
    </div>`;
  }

  readonly #confirm = async (): Promise<void> => {
    const { session, paymentId } = this;
    if (!session) return;
    this.isBusy = true;
    this.problem = '';
    try {
      const found = await session.client.rest.paymentConfirmation(paymentId);
      const { client_secret: clientSecret, payment_method: paymentMethod, url } = found;
      const detail = { paymentId, clientSecret, paymentMethod };
      if (!this.tell('greenroom-confirm-payment', detail)) return;
      if (url) window.location.assign(url);
      else this.problem = this.words.cards.confirmOnSite;
    } catch (error) {
      this.problem = session.explain(error);
    } finally {
      this.isBusy = false;
    }
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-confirm-payment': GreenroomConfirmPayment;
  }
}
