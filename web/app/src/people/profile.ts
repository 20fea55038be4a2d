/** Who somebody is, and what one can do about them: write, block, unblock. */

import type { Participant, Profile } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import type { PeopleWords } from '../i18n/people.ts';
import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import { nameOf } from '../session/people.ts';
import type { Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { openStart } from '../start/opening.ts';
import { blockedAmong, tellBlocks } from './blocks.ts';
import { PeopleElement } from './element.ts';

@customElement('greenroom-profile')
export class GreenroomProfile extends PeopleElement {
  /** Those whom it is about, as the thread has them. */
  @property({ attribute: false }) people: readonly Participant[] = [];
  @state() private profiles: ReadonlyMap<string, Profile> = new Map();
  /** Null while that is not known. */
  @state() private blocked: ReadonlySet<string> | null = null;
  /** Whom it asks about before it blocks. */
  @state() private asking: string | null = null;
  @state() private isListing = false;

  protected override joined(session: Session): Stop[] {
    void this.#load(session);
    document.addEventListener('greenroom-open', this.leave);
    return [
      ...super.joined(session),
      // Whoever is written to from here is in another conversation then.
      () => document.removeEventListener('greenroom-open', this.leave),
    ];
  }

  protected override render(): TemplateResult | typeof nothing {
    const words = this.peopleWords;
    const [first] = this.people;
    if (!words || !first) return nothing;
    if (this.isListing) {
      return html`<greenroom-blocked @close=${this.leave}></greenroom-blocked>`;
    }
    const heading = this.people.length > 1 ? words.everybody : words.profile(nameOf(first));
    return this.dialog(
      heading,
      html`<ul>
          ${this.people.map((person) => html`<li data-user=${person.user_id}>${this.#card(words, person)}</li>`)}
        </ul>
        <p class="deeds">
          <button class="button plain" @click=${() => (this.isListing = true)}>
            ${words.seeBlocked}
          </button>
        </p>`,
    );
  }

  #card(words: PeopleWords, person: Participant): TemplateResult {
    const profile = this.profiles.get(person.user_id);
    const isBlocked = this.blocked?.has(person.user_id) ?? false;
    const roles = (profile?.roles ?? []).map((role) => words.roles[role] ?? role);
    return html`<div class="person">
        ${this.person(
          person,
          html`${roles.length > 0 ? html`<span>${this.format.list(roles)}</span>` : nothing}
          ${
            profile?.verified
              ? html`<span class="mark">${icon('check')}${words.verified}</span>`
              : nothing
          }
          ${isBlocked ? html`<span>${words.isBlocked}</span>` : nothing}`,
        )}
      </div>
      ${this.asking === person.user_id ? this.#question(words, person) : this.#deeds(words, person)}`;
  }

  #deeds(words: PeopleWords, person: Participant): TemplateResult | typeof nothing {
    if (!this.blocked) return nothing;
    const name = nameOf(person);
    if (this.blocked.has(person.user_id)) {
      return html`<div class="deeds">
        <button
          class="button"
          ?disabled=${this.isBusy}
          @click=${() => this.#unblock(words, person)}
        >
          ${words.unblock(name)}
        </button>
      </div>`;
    }
    return html`<div class="deeds">
      <button class="button message" @click=${() => this.#write(person.user_id)}>
        ${words.message(name)}
      </button>
      <button class="button danger" @click=${() => this.#ask(person.user_id, person.user_id)}>
        ${words.block(name)}
      </button>
    </div>`;
  }

  #write(to: string): void {
    const { session } = this;
    if (session) void this.attempt(() => openStart(session, { to }));
  }

  #question(words: PeopleWords, person: Participant): TemplateResult {
    return html`<div class="question" role="group" aria-label=${words.askBlock(nameOf(person))}>
      <p><strong>${words.askBlock(nameOf(person))}</strong> ${words.blockHint}</p>
      <div class="deeds">
        <button
          class="button danger"
          ?disabled=${this.isBusy}
          @click=${() => this.#block(words, person)}
        >
          ${words.block(nameOf(person))}
        </button>
        <button
          class="button"
          ?disabled=${this.isBusy}
          @click=${() => this.#ask(null, person.user_id)}
        >
          ${words.goBack}
        </button>
      </div>
    </div>`;
  }

  async #load(session: Session): Promise<void> {
    const ids = this.people.map(({ user_id }) => user_id);
    await this.attempt(async () => {
      const [blocked, ...found] = await Promise.all([
        blockedAmong(session, ids),
        // Somebody who is erased has no profile any more; the thread still has their name.
        ...ids.map((id) => session.client.rest.user(id).catch(() => null)),
      ]);
      this.blocked = blocked;
      this.profiles = new Map(found.flatMap((each) => (each ? [[each.user_id, each]] : [])));
    });
  }

  async #block(words: PeopleWords, person: Participant): Promise<void> {
    await this.attempt(async () => {
      await this.session?.client.rest.block(person.user_id);
      this.asking = null;
      this.#know(person.user_id, true);
      announce(words.blocked(nameOf(person)));
    });
    await this.#focusOn(person.user_id);
  }

  async #unblock(words: PeopleWords, person: Participant): Promise<void> {
    await this.attempt(async () => {
      await this.session?.client.rest.unblock(person.user_id);
      this.#know(person.user_id, false);
      announce(words.unblocked(nameOf(person)));
    });
    await this.#focusOn(person.user_id);
  }

  #ask(whom: string | null, userId: string): void {
    this.asking = whom;
    void this.#focusOn(userId);
  }

  /** The button that was pressed is gone: the focus goes to the one in its place. */
  async #focusOn(userId: string): Promise<void> {
    await this.updateComplete;
    this.shadowRoot
      ?.querySelector<HTMLElement>(
        `[data-user='${CSS.escape(userId)}'] .deeds button:not(.message)`,
      )
      ?.focus();
  }

  #know(userId: string, isBlocked: boolean): void {
    const blocked = new Set(this.blocked);
    if (isBlocked) blocked.add(userId);
    else blocked.delete(userId);
    this.blocked = blocked;
    tellBlocks(userId, isBlocked);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-profile': GreenroomProfile;
  }
}
