/** Writes the first message to somebody. Before it is sent, nothing is there but a draft. */

import { type Profile, Problem, type Thread } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { loadPeopleWords, type PeopleWords } from '../i18n/people.ts';
import { englishStart, loadStartWords, type StartWords } from '../i18n/start.ts';
import { announce } from '../look/announcer.ts';
import '../look/avatar.ts';
import type { GreenroomDialog } from '../look/dialog.ts';
import '../look/dialog.ts';
import { icon } from '../look/icons.ts';
import { tokens } from '../look/tokens.ts';
import { draftOf, saveDraft } from '../session/drafts.ts';
import { GreenroomElement } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { growing, isSendKey } from '../thread/growing_textarea.ts';
import { excessOf, isCounted } from '../thread/text.ts';
import { answered, clientIdFor, draftPlace, newThread, reasonOf, talkWith } from './begun.ts';
import type { Wish } from './opening.ts';
import { hostFor, openThread, placeIn } from './place.ts';
import { styles } from './styles.ts';

let shown: GreenroomStartDialog | null = null;

/** One at a time. */
export async function showStart(session: Session, wish: Wish, host?: Element): Promise<void> {
  const { locale } = session;
  const [startWords, peopleWords] = await Promise.all([
    loadStartWords(locale),
    loadPeopleWords(locale),
  ]);
  shown?.remove();
  shown = document.createElement('greenroom-start-dialog');
  Object.assign(shown, { wish, startWords, peopleWords });
  hostFor(host ?? placeIn()).append(shown);
  await shown.updateComplete;
}

@customElement('greenroom-start-dialog')
export class GreenroomStartDialog extends GreenroomElement {
  static override styles = [tokens, GreenroomElement.styles, growing, styles];

  @property({ attribute: false }) wish: Wish = { to: '' };
  @property({ attribute: false }) startWords: StartWords = englishStart;
  @property({ attribute: false }) peopleWords: PeopleWords | null = null;
  @state() private person: Profile | null = null;
  /** Nobody can be written to: there is nothing to fill in. */
  @state() private isNobody = false;
  @state() private text = '';
  @state() private problem = '';
  @state() private isBusy = false;
  /** It was sent, and the page has no place that shows it. */
  @state() private isSent = false;
  @query('greenroom-dialog') private dialog!: GreenroomDialog | null;
  @query('textarea') private field!: HTMLTextAreaElement | null;

  protected override joined(session: Session): [] {
    void this.#meet(session);
    return [];
  }

  protected override firstUpdated(): void {
    void this.#restore();
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has('isSent') && this.isSent) this.#focusButton();
  }

  get #name(): string {
    return this.person?.display_name || this.startWords.somebody;
  }

  protected override render(): TemplateResult {
    const words = this.startWords;
    return html`<greenroom-dialog
      open
      .heading=${this.isSent ? words.sent : words.heading}
      .closeLabel=${this.words.look.close}
      @close=${() => this.remove()}
      @keydown=${(event: Event) => event.stopPropagation()}
    >
      ${this.#about()} ${this.isSent ? this.#done() : this.#writing()}
    </greenroom-dialog>`;
  }

  #about(): TemplateResult {
    const { person, session, wish } = this;
    const words = this.startWords;
    return html`${
      person && session
        ? html`<div class="person">
            <greenroom-avatar
              .name=${person.display_name}
              .userId=${person.user_id}
              .src=${session.avatarOf(person)}
            ></greenroom-avatar>
            <div>
              <strong dir="auto">${person.display_name}</strong>
              <div class="quiet small">${this.#facts(person)}</div>
            </div>
          </div>`
        : nothing
    }
    ${
      wish.subject && !this.isNobody
        ? html`<div class="about">
            <span class="quiet small">${words.about}</span><span dir="auto">${wish.subject}</span>
          </div>`
        : nothing
    }`;
  }

  #facts({ roles, verified }: Profile): TemplateResult | typeof nothing {
    const words = this.peopleWords;
    if (!words) return nothing;
    const text = this.format.list(roles.map((role) => words.roles[role] ?? role));
    const mark = html`<span class="verified">${icon('check')}${words.verified}</span>`;
    return html`${text}${text && verified ? ' · ' : nothing}${verified ? mark : nothing}`;
  }

  #writing(): TemplateResult {
    if (this.isNobody) return html`<p class="problem" role="alert">${this.problem}</p>`;
    const words = this.startWords;
    const tooMuch = excessOf(this.text, this.limits);
    const known = this.#known();
    const isSendable = this.text.trim() !== '' && tooMuch <= 0 && !this.isBusy;
    const problem = tooMuch > 0 ? this.words.thread.tooLong(tooMuch) : this.problem;
    return html`${known ? this.#offer(known) : nothing}
      <form @submit=${this.#submit}>
        ${known ? html`<p class="quiet small">${words.orNew}</p>` : nothing}
        <div class="grow" data-text=${this.text}>
          <textarea
            dir="auto"
            autocapitalize="sentences"
            placeholder=${words.placeholder}
            aria-label=${words.label(this.#name)}
            aria-describedby="below"
            aria-invalid=${tooMuch > 0}
            ?readonly=${this.isBusy}
            @input=${this.#typed}
            @keydown=${this.#key}
          ></textarea>
        </div>
        ${problem ? html`<p class="problem" role="alert">${problem}</p>` : nothing}
        <div class="below">
          <span id="below" class="quiet small">${this.#hint(tooMuch)}</span>
          <button class="button primary" ?disabled=${!isSendable}>
            ${this.isBusy ? words.sending : words.send}
          </button>
        </div>
      </form>`;
  }

  #hint(tooMuch: number): string | TemplateResult {
    if (tooMuch <= 0 && isCounted(tooMuch, this.limits)) {
      return this.words.thread.charactersLeft(-tooMuch);
    }
    return html`<span class="hint">${this.startWords.hint}</span>`;
  }

  /** Under a key of its own there is one conversation anyway: the message goes there. */
  #known(): Thread | null {
    const { session, wish } = this;
    if (!session || wish.listing_key) return null;
    return talkWith(session.client.state, session.userId, wish.to);
  }

  #offer({ id }: Thread): TemplateResult {
    return html`<div class="known">
      <span>${this.startWords.alreadyTalking(this.#name)}</span>
      <button class="button" @click=${() => this.#open(id)}>${this.startWords.openTalk}</button>
    </div>`;
  }

  #done(): TemplateResult {
    return html`<form @submit=${this.#close}>
      <p>${this.startWords.sentText(this.#name)}</p>
      <div class="below"><button class="button primary">${this.words.look.close}</button></div>
    </form>`;
  }

  async #meet(session: Session): Promise<void> {
    try {
      this.person = await session.client.rest.user(this.wish.to);
      if (session.userId === this.wish.to) this.#refuse(this.startWords.self);
    } catch (error) {
      const problem = Problem.of(error);
      // Where the server is away, the text can be written all the same.
      if (problem.status === 0) return;
      const text = this.#explain(problem);
      if (problem.isTransient) this.problem = text;
      else this.#refuse(text);
    }
  }

  #refuse(text: string): void {
    this.isNobody = true;
    this.problem = text;
  }

  #explain(problem: Problem): string {
    const { format, nowMs, session, startWords: words } = this;
    if (problem.status === 401) return words.notSignedIn;
    const telling = { words, format, nowMs, name: this.#name };
    return reasonOf(problem, telling) ?? session?.explain(problem) ?? problem.message;
  }

  /** The dialog has to be open before something in it takes the focus. */
  async #restore(): Promise<void> {
    await this.dialog?.updateComplete;
    const { field, session } = this;
    if (!field || !session) return;
    this.text = field.value = draftOf(session.userId, draftPlace(this.wish));
    field.focus();
  }

  readonly #typed = (): void => {
    this.text = this.field?.value ?? '';
    this.problem = '';
    if (this.session) saveDraft(this.session.userId, draftPlace(this.wish), this.text);
  };

  readonly #key = (event: KeyboardEvent): void => {
    if (!isSendKey(event)) return;
    event.preventDefault();
    void this.#send();
  };

  readonly #submit = (event: Event): void => {
    event.preventDefault();
    void this.#send();
  };

  async #send(): Promise<void> {
    const { session, wish } = this;
    const body = this.text.trim();
    if (!session || this.isBusy || body === '' || excessOf(body, this.limits) > 0) return;
    this.isBusy = true;
    this.problem = '';
    const { userId } = session;
    try {
      const asked = newThread(wish, clientIdFor(userId, wish, body), body);
      const { thread } = await session.client.rest.startThread(asked);
      answered(userId, wish);
      saveDraft(userId, draftPlace(wish), '');
      announce(this.startWords.sent);
      this.#open(thread.id);
    } catch (error) {
      const problem = Problem.of(error);
      if (!problem.isTransient) answered(userId, wish);
      this.problem = this.#explain(problem);
    } finally {
      this.isBusy = false;
    }
  }

  /** The dialog is gone first: it gives the focus back to where it was. */
  #open(threadId: string): void {
    if (placeIn()) this.#close();
    if (!openThread(threadId)) this.isSent = true;
    else this.#close();
  }

  #focusButton(): void {
    this.shadowRoot?.querySelector<HTMLElement>('.below button')?.focus();
  }

  readonly #close = (event?: Event): void => {
    event?.preventDefault();
    this.dialog?.shadowRoot?.querySelector('dialog')?.close();
    this.remove();
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-start-dialog': GreenroomStartDialog;
  }
}
