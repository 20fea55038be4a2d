/** `<greenroom-start>`: the button of a page that begins a conversation with somebody. */

import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { tokens } from '../look/tokens.ts';
import { GreenroomElement } from '../session/element.ts';
import { openStart } from './opening.ts';

/** Not there for oneself. */
@customElement('greenroom-start')
export class GreenroomStart extends GreenroomElement {
  static override styles = [tokens, GreenroomElement.styles];

  @property() to = '';
  @property({ attribute: 'listing-key' }) listingKey?: string;
  @property() subject?: string;
  @property({ attribute: 'role-context' }) roleContext?: string;
  @state() private problem = '';

  protected override render(): TemplateResult | typeof nothing {
    const { session, to, words } = this;
    if (session?.userId === to) return nothing;
    const isOut = !session || session.isSignedOut;
    const note = isOut ? words.look.signedOut : this.problem;
    return html`<button
        class="button primary"
        part="button"
        ?disabled=${isOut}
        @click=${this.#open}
      >
        <slot>${words.look.message}</slot>
      </button>
      <span class="quiet small" role="status">${note}</span>`;
  }

  readonly #open = async (): Promise<void> => {
    const { session, to, listingKey, subject, roleContext } = this;
    const wish = { to, listing_key: listingKey, subject, role_context: roleContext };
    this.problem = '';
    try {
      if (session) await openStart(session, wish, this);
    } catch {
      // The dialog could not be fetched.
      this.problem = this.words.look.unreachable;
    }
  };
}
