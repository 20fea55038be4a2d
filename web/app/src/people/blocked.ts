/** Everybody whom the person has blocked, and the way back. */

import type { Block } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';

import type { PeopleWords } from '../i18n/people.ts';
import { announce } from '../look/announcer.ts';
import type { Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { blocksAfter, tellBlocks } from './blocks.ts';
import { PeopleElement } from './element.ts';

@customElement('greenroom-blocked')
export class GreenroomBlocked extends PeopleElement {
  /** Null before the first page is there. */
  @state() private items: readonly Block[] | null = null;
  @state() private next: string | null = null;

  protected override joined(session: Session): Stop[] {
    void this.#load(session);
    return super.joined(session);
  }

  protected override render(): TemplateResult | typeof nothing {
    const words = this.peopleWords;
    return words ? this.dialog(words.blockedList, this.#content(words)) : nothing;
  }

  #content(words: PeopleWords): TemplateResult | typeof nothing {
    const { items, next } = this;
    if (!items)
      return this.problem ? nothing : html`<p class="quiet">${this.words.look.loading}</p>`;
    if (items.length === 0) {
      return html`<p>${words.noneBlocked}</p>
        <p class="quiet small">${words.noneBlockedHint}</p>`;
    }
    return html`<ul>
        ${items.map((each) => html`<li class="person">${this.#row(words, each)}</li>`)}
      </ul>
      ${
        next
          ? html`<p class="deeds">
              <button class="button" ?disabled=${this.isBusy} @click=${this.#more}>
                ${words.more}
              </button>
            </p>`
          : nothing
      }`;
  }

  #row(words: PeopleWords, each: Block): TemplateResult {
    const name = each.display_name || each.user_id;
    return html`${this.person(each, words.since(this.format.date(each.created_at)))}
      <button
        class="button"
        ?disabled=${this.isBusy}
        aria-label=${words.unblock(name)}
        @click=${() => this.#unblock(words, each)}
      >
        ${words.unblockShort}
      </button>`;
  }

  async #unblock(words: PeopleWords, { user_id, display_name }: Block): Promise<void> {
    await this.attempt(async () => {
      await this.session?.client.rest.unblock(user_id);
      this.items = (this.items ?? []).filter((each) => each.user_id !== user_id);
      tellBlocks(user_id, false);
      announce(words.unblocked(display_name || user_id));
    });
    // The row with the focus is gone.
    await this.updateComplete;
    this.shadowRoot?.querySelector<HTMLElement>('greenroom-dialog')?.focus();
  }

  readonly #more = (): void => {
    if (this.session) void this.#load(this.session);
  };

  #load(session: Session): Promise<void> {
    return this.attempt(async () => {
      const { items, next } = await blocksAfter(session, this.next);
      this.items = [...(this.items ?? []), ...items];
      this.next = next;
    });
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-blocked': GreenroomBlocked;
  }
}
