/** Who are you? In the sample one chooses; elsewhere the marketplace says so. Fires `chosen`. */

import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import type { Words } from '../i18n/index.ts';
import { englishShell, type ShellWords } from '../i18n/shell.ts';
import '../look/avatar.ts';
import { controls } from '../look/controls.ts';
import { icon } from '../look/icons.ts';
import { tokens } from '../look/tokens.ts';
import { samplePeople, type SamplePerson, signInAs } from './sample.ts';
import { styles } from './sign_in_styles.ts';

export interface Chosen {
  token: string;
}

@customElement('greenroom-sign-in')
export class GreenroomSignIn extends LitElement {
  static override styles = [tokens, controls, styles];

  @property({ attribute: false }) words!: Words;
  @property({ attribute: false }) shellWords: ShellWords = englishShell;
  /** Why the person is here again, in a sentence. */
  @property() reason = '';
  @state() private people: SamplePerson[] | null | undefined;
  @state() private isUnreachable = false;
  @state() private choosing: string | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#load();
  }

  /** The page is another one now: its heading says which. */
  override focus(): void {
    void this.updateComplete.then(() => this.renderRoot.querySelector('h1')?.focus());
  }

  protected override render(): TemplateResult {
    return html`<main part="sign-in">
      <div class="page">
        <span class="logo" aria-hidden="true">${icon('inbox')}</span>
        ${this.#heading()}
        ${this.reason ? html`<p class="reason" role="status">${this.reason}</p>` : nothing}
        ${this.isUnreachable ? this.#failure() : nothing}
        ${this.people === undefined && !this.isUnreachable ? this.#skeleton() : nothing}
        ${this.people ? this.#choice(this.people) : nothing}
      </div>
    </main>`;
  }

  /** One heading that changes its words, so that it keeps the focus. */
  #heading(): TemplateResult {
    const words = this.shellWords;
    const isElsewhere = this.people === null;
    const title = isElsewhere ? words.yourMarketplace : words.signInTitle;
    const lead = isElsewhere ? words.yourMarketplaceHint : words.choosePersonHint;
    return html`<h1 tabindex="-1">${this.people ? words.choosePerson : title}</h1>
      ${this.people === undefined ? nothing : html`<p class="lead">${lead}</p>`}
      ${isElsewhere ? html`<p class="small quiet">${words.buildersHint}</p>` : nothing}`;
  }

  #choice(people: readonly SamplePerson[]): TemplateResult {
    return html`<ul class="people">
        ${people.map((person) => html`<li>${this.#person(person)}</li>`)}
      </ul>
      ${this.#secondWindow()}`;
  }

  #person({ user_id, display_name, role, city, avatar_url }: SamplePerson): TemplateResult {
    const words = this.shellWords;
    return html`<button
      class="person"
      aria-busy=${this.choosing === user_id}
      ?disabled=${this.choosing !== null}
      @click=${() => void this.#choose(user_id)}
    >
      <greenroom-avatar
        .name=${display_name}
        .userId=${user_id}
        .src=${avatar_url}
      ></greenroom-avatar>
      <span class="visually-hidden">${words.signInAs(display_name)}</span>
      <span class="name" aria-hidden="true">${display_name}</span>
      <span class="quiet small">${words.inCity(words.roles[role] ?? role, city)}</span>
    </button>`;
  }

  #secondWindow(): TemplateResult {
    const words = this.shellWords;
    return html`<div class="two">
      <p><strong>${words.twoWindows}</strong> ${words.twoWindowsHint}</p>
      <a class="button" href="/app/sign-in" target="_blank" rel="noopener"
        >${words.secondWindow}<span class="visually-hidden">, ${words.opensWindow}</span></a
      >
    </div>`;
  }

  #failure(): TemplateResult {
    const { look } = this.words;
    const again = html`<button class="button" @click=${this.#load}>${look.retry}</button>`;
    return html`<div class="failure" role="alert">
      <p class="problem">${look.unreachable}</p>
      ${this.people ? nothing : again}
    </div>`;
  }

  #skeleton(): TemplateResult {
    return html`<p class="visually-hidden" role="status">${this.words.look.loading}</p>`;
  }

  readonly #load = async (): Promise<void> => {
    this.isUnreachable = false;
    try {
      this.people = await samplePeople();
    } catch {
      this.isUnreachable = true;
    }
  };

  async #choose(userId: string): Promise<void> {
    this.isUnreachable = false;
    this.choosing = userId;
    try {
      const detail: Chosen = { token: await signInAs(userId) };
      this.dispatchEvent(new CustomEvent('chosen', { detail }));
    } catch {
      this.isUnreachable = true;
    }
    this.choosing = null;
  }
}
