/** Edits a message where it stands. */

import { type Message, Problem } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import { GreenroomElement } from '../session/element.ts';
import { growing, isSendKey } from './growing_textarea.ts';
import { excessOf } from './text.ts';

/** Fires `edit-done` when the message is as the person wants it, or they gave up. */
@customElement('greenroom-edit-box')
export class GreenroomEditBox extends GreenroomElement {
  static override shadowRootOptions = {
    ...GreenroomElement.shadowRootOptions,
    delegatesFocus: true,
  };
  static override styles = [
    GreenroomElement.styles,
    growing,
    css`
      :host {
        display: block;
        flex: 0 1 34rem;
        min-inline-size: 0;
      }

      form {
        background: var(--_surface);
        border: 1.5px solid var(--_accent);
        border-radius: var(--_radius-bubble);
        display: flex;
        flex-direction: column;
        gap: calc(var(--_space) * 2);
        padding: calc(var(--_space) * 2);
      }

      .end {
        align-items: center;
        display: flex;
        flex-wrap: wrap;
        gap: calc(var(--_space) * 2);
        justify-content: flex-end;
      }

      .hint {
        flex: 1;
        font-size: var(--_size-tiny);
        padding-inline-start: calc(var(--_space) * 1.5);
      }

      p {
        font-size: var(--_size-small);
        margin: 0;
      }

      @media (pointer: coarse) {
        .hint {
          visibility: hidden;
        }
      }
    `,
  ];

  @property({ attribute: false }) message!: Message;
  @state() private text = '';
  @state() private problem = '';
  @state() private isSaving = false;
  @query('textarea') private field!: HTMLTextAreaElement;

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    if (!this.hasUpdated) this.text = this.message.body;
  }

  protected override firstUpdated(): void {
    this.field.value = this.text;
    this.field.focus();
    this.field.setSelectionRange(this.text.length, this.text.length);
  }

  protected override render(): TemplateResult {
    const { thread, look } = this.words;
    const tooMuch = excessOf(this.text, this.limits);
    const problem = tooMuch > 0 ? thread.tooLong(tooMuch) : this.problem;
    const { attachments } = this.message;
    return html`<form @submit=${this.#submit}>
      ${
        attachments.length > 0
          ? html`<greenroom-attachments .attachments=${attachments}></greenroom-attachments>`
          : nothing
      }
      <div class="grow" data-text=${this.text}>
        <textarea
          rows="1"
          dir="auto"
          aria-label=${attachments.length > 0 ? thread.captionLabel : thread.editLabel}
          aria-describedby="hint"
          aria-invalid=${tooMuch > 0}
          @input=${this.#typed}
          @keydown=${this.#key}
        ></textarea>
      </div>
      ${problem ? html`<p class="problem" role="alert">${problem}</p>` : nothing}
      <div class="end">
        <span id="hint" class="hint quiet">${thread.editHint}</span>
        <button type="button" class="button small" @click=${this.#done}>${look.cancel}</button>
        <button
          class="button small primary"
          ?disabled=${this.isSaving || tooMuch > 0 || this.#isMissing}
        >
          ${thread.save}
        </button>
      </div>
    </form>`;
  }

  /** Files need no words. */
  get #isMissing(): boolean {
    return this.text.trim() === '' && this.message.attachments.length === 0;
  }

  readonly #typed = (): void => {
    this.text = this.field.value;
  };

  /** The timeline around has keys of its own. */
  readonly #key = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === 'Escape' && !event.isComposing) this.#done();
    if (!isSendKey(event)) return;
    event.preventDefault();
    void this.#save();
  };

  readonly #submit = (event: Event): void => {
    event.preventDefault();
    void this.#save();
  };

  async #save(): Promise<void> {
    const { session, message } = this;
    const text = this.text.trim();
    if (!session || this.isSaving || this.#isMissing || excessOf(text, this.limits) > 0) return;
    if (text === message.body) {
      this.#done();
      return;
    }
    this.isSaving = true;
    this.problem = '';
    try {
      await session.client.rest.edit(message.thread_id, message.id, text);
      announce(this.words.thread.editedNow);
      this.#done();
    } catch (error) {
      this.problem = this.#explain(error);
    }
    this.isSaving = false;
  }

  #explain(error: unknown): string {
    const { status, code } = Problem.of(error);
    if (code === 'EDIT_WINDOW_CLOSED') return this.words.thread.editTooLate;
    if (status === 404) return this.words.thread.editGone;
    return this.session?.explain(error) ?? '';
  }

  readonly #done = (): void => {
    const { id } = this.message;
    const options = { bubbles: true, composed: true, detail: { messageId: id } };
    this.dispatchEvent(new CustomEvent('edit-done', options));
  };
}
