/** The field for a new message. It grows with the text, keeps a draft, and refuses a text that is
 * longer than the server allows. */

import type { Message, Thread } from '@greenroom/sdk';
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { icon } from '../look/icons.ts';
import type { GreenroomTray } from '../files/tray.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import { loadNewCard, loadTray } from '../session/later.ts';
import type { Session } from '../session/session.ts';
import { gist, nameIn } from './bubble.ts';
import { composerStyles } from './composer_styles.ts';
import { draftOf, onDraft, saveDraft } from '../session/drafts.ts';
import { growing, isSendKey } from './growing_textarea.ts';
import { excessOf, isCounted } from './text.ts';

/** The buttons that make cards and attach files; their places are kept. What does not come is asked
 * for again. */
function fetchButtons(): void {
  loadNewCard().catch(() => {});
  loadTray().catch(() => {});
}

/** Fires `sent`, `edit-last` and `reply-cancel`. */
@customElement('greenroom-composer')
export class GreenroomComposer extends GreenroomElement {
  static override styles = [GreenroomElement.styles, growing, composerStyles];

  @property({ attribute: false }) thread: Thread | null = null;
  @property({ attribute: false }) replyTo: Message | null = null;
  @state() private text = '';
  @state() private problem = '';
  @state() private fileCount = 0;
  /** A file waits here that the server does not take: a message with it would never go. */
  @state() private hasRefused = false;
  @state() private isRecording = false;
  /** Files that were chosen together are sent together: until all are here, nothing goes. */
  @state() private isAdding = false;
  @query('textarea') private field!: HTMLTextAreaElement;
  @query('greenroom-tray') private tray!: GreenroomTray;

  override focus(options?: FocusOptions): void {
    this.field?.focus(options);
  }

  protected override joined(session: Session): Stop[] {
    fetchButtons();
    return [
      session.client.on('connection', fetchButtons),
      onDraft((threadId) => {
        if (threadId === this.thread?.id && !this.matches(':focus-within')) this.#restore(session);
      }),
    ];
  }

  protected override updated(changed: PropertyValues<this>): void {
    const before = changed.get('thread');
    const isOther = changed.has('thread') && before?.id !== this.thread?.id;
    if (this.session && isOther && !before && !changed.has('session')) this.#adopt(this.session);
    if (this.session && (isOther || changed.has('session'))) this.#restore(this.session);
    if (changed.has('replyTo') && this.replyTo) this.focus();
  }

  protected override render(): TemplateResult {
    const { thread } = this.words;
    const tooMuch = excessOf(this.text, this.limits);
    const isWriting = this.text.trim() !== '';
    const hasSomething = isWriting || this.fileCount > 0;
    const isSendable = hasSomething && tooMuch <= 0 && !this.hasRefused && !this.isAdding;
    return html`<form @submit=${this.#submit} part="composer">
      ${this.#reply()}
      <greenroom-tray
        .thread=${this.thread}
        @files-changed=${this.#filesChanged}
        @emptied=${() => this.focus()}
        @recorded=${this.#recorded}
      ></greenroom-tray>
      <div class="bar" ?hidden=${this.isRecording}>
        <greenroom-new-card .thread=${this.thread}></greenroom-new-card>
        <div class="grow" data-text=${this.text}>
          <textarea
            rows="1"
            dir="auto"
            enterkeyhint="enter"
            autocapitalize="sentences"
            placeholder=${thread.write}
            aria-label=${thread.write}
            aria-describedby="below"
            aria-invalid=${tooMuch > 0}
            @input=${this.#typed}
            @paste=${this.#pasted}
            @keydown=${this.#key}
            @blur=${this.#rest}
          ></textarea>
        </div>
        <greenroom-attach
          .isWriting=${isWriting || this.fileCount > 0}
          @files-chosen=${({ detail }: CustomEvent<{ files: File[] }>) =>
            void this.attach(detail.files)}
          @record=${this.#record}
        ></greenroom-attach>
        <button
          class="send"
          ?disabled=${!isSendable}
          aria-label=${thread.send}
          title=${thread.send}
        >
          ${icon('send')}
        </button>
      </div>
      <div id="below" class="below">${this.#below(tooMuch)}</div>
    </form>`;
  }

  #reply(): TemplateResult | typeof nothing {
    const { replyTo, session, thread } = this;
    const { words } = this;
    if (!replyTo || !session) return nothing;
    const isOwn = replyTo.author_id === session.userId;
    const name = nameIn({ session, thread }, replyTo.author_id);
    return html`<div class="reply">
      <div>
        <strong> ${isOwn ? words.thread.replyingToSelf : words.thread.replyingTo(name)} </strong>
        <span dir="auto">${gist(replyTo, { session, thread })}</span>
      </div>
      <button
        type="button"
        class="icon-button"
        aria-label=${words.thread.stopReplying}
        title=${words.thread.stopReplying}
        @click=${this.#stopReplying}
      >
        ${icon('close')}
      </button>
    </div>`;
  }

  #below(tooMuch: number): TemplateResult {
    const { thread } = this.words;
    if (this.problem) return html`<span class="bad" role="alert">${this.problem}</span>`;
    if (this.hasRefused) return html`<span class="bad" role="alert">${thread.removeRefused}</span>`;
    if (tooMuch > 0) return html`<span class="bad" role="alert">${thread.tooLong(tooMuch)}</span>`;
    if (isCounted(tooMuch, this.limits)) {
      return html`<span>${thread.charactersLeft(-tooMuch)}</span>`;
    }
    return html`<span class="hint" aria-hidden=${this.text === ''}>
      ${
        this.text === ''
          ? nothing
          : html`<b>**${thread.bold}**</b> <i>*${thread.italic}*</i> <code>\`${thread.code}\`</code>
              <span>${thread.hint}</span>`
      }
    </span>`;
  }

  /** What was typed before the thread was known belongs to it: it becomes part of its draft. */
  #adopt(session: Session): void {
    if (!this.thread || this.text.trim() === '') return;
    const draft = draftOf(session.userId, this.thread.id);
    saveDraft(session.userId, this.thread.id, draft ? `${draft}\n${this.text}` : this.text);
  }

  #restore(session: Session): void {
    this.#setText(this.thread ? draftOf(session.userId, this.thread.id) : '');
    this.problem = '';
  }

  #setText(text: string): void {
    this.text = text;
    this.field.value = text;
  }

  readonly #typed = (): void => {
    const { session, thread } = this;
    this.text = this.field.value;
    this.problem = '';
    if (!session || !thread) return;
    saveDraft(session.userId, thread.id, this.text);
    session.client.typing(thread.id, this.text.trim() !== '');
  };

  readonly #rest = (): void => {
    if (this.thread) this.session?.client.typing(this.thread.id, false);
  };

  readonly #key = (event: KeyboardEvent): void => {
    const isPlain = !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (event.key === 'ArrowUp' && isPlain && this.text === '') {
      event.preventDefault();
      this.dispatchEvent(new CustomEvent('edit-last'));
    } else if (event.key === 'Escape' && this.replyTo) {
      event.stopPropagation();
      this.#stopReplying();
    } else if (isSendKey(event)) {
      event.preventDefault();
      this.#send();
    }
  };

  readonly #submit = (event: Event): void => {
    event.preventDefault();
    this.#send();
  };

  /** The bubble is there at once; the client brings the message to the server. It only refuses
   * when too many wait already: then the text stays. */
  #send(): void {
    const { session, thread, replyTo } = this;
    const body = this.text.trim();
    const hasFiles = this.fileCount > 0;
    if (!session || !thread || excessOf(body, this.limits) > 0) return;
    if (this.hasRefused || this.isAdding || (body === '' && !hasFiles)) return;
    try {
      session.client.send(thread.id, body, {
        ...(replyTo ? { replyTo: replyTo.id } : {}),
        ...(hasFiles ? { files: this.tray.take() } : {}),
      });
    } catch {
      this.problem = this.words.thread.queueFull;
      return;
    }
    this.#setText('');
    saveDraft(session.userId, thread.id, '');
    this.focus();
    this.dispatchEvent(new CustomEvent('sent'));
  }

  readonly #filesChanged = (event: CustomEvent<{ count: number; hasRefused: boolean }>): void => {
    this.fileCount = event.detail.count;
    this.hasRefused = event.detail.hasRefused;
  };

  /** Files that were chosen, pasted or dropped here. */
  async attach(files: readonly File[]): Promise<void> {
    if (files.length === 0) return;
    try {
      await loadTray();
    } catch {
      this.problem = this.words.look.unreachable;
      return;
    }
    this.focus();
    this.isAdding = true;
    try {
      await this.tray.add(files);
    } finally {
      this.isAdding = false;
    }
  }

  /** A picture from the clipboard; text is the browser's own. */
  readonly #pasted = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void this.attach(files);
  };

  readonly #record = (): void => {
    this.isRecording = true;
    void this.tray.record();
  };

  readonly #recorded = (): void => {
    this.isRecording = false;
    this.dispatchEvent(new CustomEvent('sent'));
    void this.updateComplete.then(() => this.focus());
  };

  readonly #stopReplying = (): void => {
    this.dispatchEvent(new CustomEvent('reply-cancel'));
    this.focus();
  };
}
