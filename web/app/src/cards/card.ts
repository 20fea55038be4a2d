/** A card in the timeline: what it says, how it stands, and what the viewer can do with it now. */

import type { Card, CardAction, StoredFile } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';

import { untilOf } from '../i18n/when.ts';
import { icon } from '../look/icons.ts';
import type { Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { consequence, confirmLabel } from './confirmation.ts';
import { asksForChoice, CardActions } from './card_actions.ts';
import {
  actionLabel,
  isSettling,
  paysBySilence,
  stateLabel,
  titleOf,
  toneOf,
} from './catalogue.ts';
import { loadAttachments, loadProofs } from '../session/later.ts';
import { documents, loadFiles, loadHistory, loadPlace } from './loaders.ts';
import { drawFacts, drawLink, type Drawing, placeOf } from './facts.ts';
import type { Point } from './geography.ts';
import { iconOf, toneIcon } from './card_icons.ts';
import './confirm_payment.ts';
import { cardLook, chip } from './style.ts';

const SECOND_MS = 1_000;
const HALF_MINUTE_MS = 30_000;
const HOUR_MS = 3_600_000;
@customElement('greenroom-card')
export class GreenroomCard extends CardActions {
  static override styles = [...([CardActions.styles].flat() as []), chip, cardLook];

  @state() private documentUrl: string | null = null;
  @state() private isHistoryOpen = false;
  #stopTicking: Stop | null = null;
  #tickMs = 0;
  #documentAsked = '';

  protected override joined(session: Session): Stop[] {
    return [...super.joined(session), () => this.#tick(0)];
  }

  protected override forgetCard(): void {
    super.forgetCard();
    this.documentUrl = null;
    this.#documentAsked = '';
  }

  protected override updated(): void {
    const { shown } = this;
    if (!shown || !this.session) return;
    const isClock = Boolean(shown.totals['started_at'] && !shown.totals['stopped_at']);
    const leftMs = shown.expires_at ? Date.parse(shown.expires_at) - this.nowMs : Infinity;
    const isSoon = leftMs > 0 && leftMs < HOUR_MS;
    this.#tick(isClock || isSoon ? SECOND_MS : shown.expires_at ? HALF_MINUTE_MS : 0);
    const documentId = shown.payload['document_id'];
    if (typeof documentId === 'string' && shown.waits_for.length > 0) {
      void this.#findDocument(this.session, shown.thread_id, documentId);
    }
  }

  #tick(everyMs: number): void {
    if (everyMs === this.#tickMs) return;
    this.#stopTicking?.();
    this.#tickMs = everyMs;
    this.#stopTicking = everyMs > 0 ? this.redrawEvery(everyMs) : null;
  }

  async #findDocument(session: Session, threadId: string, documentId: string): Promise<void> {
    if (this.#documentAsked === documentId) return;
    this.#documentAsked = documentId;
    const tab = await documents.get(session, threadId).catch(() => null);
    const url = tab?.documents.find(({ id }) => id === documentId)?.url ?? null;
    this.documentUrl = url?.startsWith('https://') ? url : null;
  }

  protected override render(): TemplateResult | typeof nothing {
    const { shown, types } = this;
    const words = this.words.cards;
    if (!shown) return nothing;
    const title = titleOf(shown, types);
    const round = Number(shown.totals['round'] ?? 1);
    return html`<section role="group" aria-labelledby="title" tabindex="-1" part="card">
        <div class="top">
          <span class="sign">${icon(iconOf(shown.type))}</span>
          <h3 id="title">${title}</h3>
          <p class="quiet small">
            ${this.#fromTo(shown)}${round > 1 ? ` · ${words.round(round)}` : nothing}
          </p>
          <button
            class="icon-button past"
            aria-label=${words.historyOf(title)}
            title=${words.history}
            @click=${this.#openHistory}
          >
            ${icon('history')}
          </button>
        </div>
        ${this.#facts(shown)} ${this.#standing(shown)} ${this.#confirmation(shown)}
        ${this.#notices()} ${this.#doing(shown)}
      </section>
      ${this.#form(shown)}
      ${
        this.isHistoryOpen
          ? html`<greenroom-card-history
              .card=${shown}
              @close=${() => (this.isHistoryOpen = false)}
            ></greenroom-card-history>`
          : nothing
      }`;
  }

  #facts(card: Card): TemplateResult | typeof nothing {
    const manifestId = card.payload['manifest_id'];
    const files = typeof manifestId === 'string' ? this.#files(manifestId) : nothing;
    const shown = card.files?.length ? this.#stored(card, card.files) : nothing;
    const facts = drawFacts(this.#drawing(card));
    const at = placeOf(card.payload);
    const place = at ? this.#place(card, at) : nothing;
    return facts.length > 0 || files !== nothing || shown !== nothing || at
      ? html`<div class="facts">${place}${shown}${facts}${files}</div>`
      : nothing;
  }

  /** Pictures to choose from, or a receipt. */
  #stored(card: Card, files: readonly StoredFile[]): TemplateResult {
    if (!Array.isArray(card.payload['gallery'])) {
      loadAttachments(this.session?.locale ?? 'en').catch(() => {});
      return html`<greenroom-attachments .files=${files}></greenroom-attachments>`;
    }
    loadProofs().catch(() => {});
    const canChoose = card.available_actions.some(({ input }) => asksForChoice(input));
    return html`<greenroom-proofs
      .files=${files}
      .chosen=${canChoose ? this.chosen : (card.totals['selections'] ?? [])}
      .canChoose=${canChoose}
      .most=${Number(card.payload['max_selections'] ?? Infinity)}
      .notes=${card.totals['file_notes'] ?? []}
      @chosen=${(event: CustomEvent<{ chosen: string[] }>) => this.choose(card, event.detail.chosen)}
    ></greenroom-proofs>`;
  }

  /** Few cards deliver files: what draws them comes with the first, and again with the next. */
  #files(manifestId: string): TemplateResult {
    loadFiles().catch(() => {});
    return html`<greenroom-card-files .manifestId=${manifestId}></greenroom-card-files>`;
  }

  #place(card: Card, at: Point): TemplateResult {
    loadPlace().catch(() => {});
    return html`<greenroom-card-place
      .at=${at}
      .called=${card.payload['place'] ?? ''}
      ?own=${card.created_by === this.userId}
    ></greenroom-card-place>`;
  }

  #drawing(card: Card): Drawing {
    const { format, nowMs, userId, documentUrl, words } = this;
    const type = this.types.own.get(card.type);
    const name = (userId: string): string => this.nameIn(card.thread_id, userId);
    return { card, type, words: words.cards, format, nowMs, userId, documentUrl, name };
  }

  #fromTo(card: Card): string {
    const { buyer, seller, created_by: maker, thread_id: threadId } = card;
    const other = maker === buyer ? seller : buyer;
    const to = other ? this.doer(threadId, other) : undefined;
    return this.words.cards.fromTo(this.doer(threadId, maker), to);
  }

  #standing(card: Card): TemplateResult {
    const tone = toneOf(card, this.types, this.userId);
    const isBusy = isSettling(card, this.types) && !('confirmation' in card.totals);
    const sign = toneIcon(tone);
    const label = stateLabel(card, this.types);
    return html`<div class="standing" aria-busy=${isBusy}>
      <span class="chip ${tone}">
        ${isBusy ? html`<span class="spinner"></span>` : sign && icon(sign)}
        ${isBusy ? this.words.cards.settling(label) : label}
      </span>
      <span class="quiet small"
        >${isBusy ? this.words.cards.settlingHint : this.#awaited(card)}</span
      >
    </div>`;
  }

  /** The bank of the one who pays wants to be asked. */
  #confirmation(card: Card): TemplateResult | typeof nothing {
    const paymentId = card.totals['confirmation'];
    if (typeof paymentId !== 'string') return nothing;
    return html`<greenroom-confirm-payment
      .paymentId=${paymentId}
      ?own=${card.buyer === this.userId}
    ></greenroom-confirm-payment>`;
  }

  /** Who is awaited, and how long. */
  #awaited(card: Card): string {
    const words = this.words.cards;
    const isMine = card.waits_for.includes(this.userId);
    const leftMs = card.expires_at ? Date.parse(card.expires_at) - this.nowMs : null;
    const until = card.expires_at ? untilOf(this.format, card.expires_at, this.nowMs) : null;
    if (leftMs !== null && leftMs <= 0) return words.expired;
    if (until && paysBySilence(card, this.types)) {
      return words.bySilence(until, isMine, this.doer(card.thread_id, card.seller));
    }
    if (isMine) return until ? words.answerWithin(until) : words.yourTurn;
    const names = card.waits_for.map((userId) => this.nameIn(card.thread_id, userId));
    const who = names.length > 0 ? words.waitsFor(this.format.list(names)) : '';
    return [who, until ? words.expiresIn(until) : ''].filter(Boolean).join(' · ');
  }

  #notices(): TemplateResult | typeof nothing {
    if (this.filling) return nothing;
    const { told, problem, unanswered } = this;
    return html`${told ? html`<p class="told" role="status">${told}</p>` : nothing}
    ${
      problem
        ? html`<div class="ask" role="alert">
            <p class="problem">${problem}</p>
            ${
              unanswered
                ? html`<button class="button" ?disabled=${this.busy !== null} @click=${this.retry}>
                    ${icon('retry')}${this.words.look.retry}
                  </button>`
                : nothing
            }
          </div>`
        : nothing
    }`;
  }

  #doing(card: Card): TemplateResult | typeof nothing {
    if (this.asking) return this.#question(card, this.asking);
    if (card.available_actions.length === 0) return nothing;
    return html`<div class="actions" role="group" aria-label=${this.words.cards.actions}>
      ${card.available_actions.map((action) => {
        const isBusy = this.busy === action.action;
        return html`<button
          class="button ${action.style}"
          data-action=${action.action}
          aria-busy=${isBusy}
          ?disabled=${this.busy !== null}
          @click=${() => this.press(card, action)}
        >
          ${isBusy ? html`<span class="spinner"></span>` : nothing}
          ${actionLabel(card, action, this.types)}
        </button>`;
      })}
    </div>`;
  }

  #question(card: Card, action: CardAction): TemplateResult {
    const words = this.words.cards;
    const label = actionLabel(card, action, this.types);
    const isDanger = action.style === 'danger';
    return html`<div
      class="ask box"
      role="group"
      aria-labelledby="question"
      @keydown=${this.#askKey}
    >
      <p id="question">
        <strong>${words.areYouSure(label)}</strong>
        ${consequence(this.confirmationOf(card, action))}
      </p>
      <div class="actions">
        <button
          class="button ${isDanger ? 'firm' : 'primary'} sure"
          ?disabled=${this.busy !== null}
          aria-busy=${this.busy !== null}
          @click=${() => this.act(card, action, this.inputOf(action))}
        >
          ${this.busy ? html`<span class="spinner"></span>` : nothing}${confirmLabel(this.confirmationOf(card, action))}
        </button>
        <button class="button" ?disabled=${this.busy !== null} @click=${this.unask}>
          ${words.goBack}
        </button>
      </div>
    </div>`;
  }

  #form(card: Card): TemplateResult | typeof nothing {
    const { filling, unanswered } = this;
    if (!filling) return nothing;
    const { action, schema, context, value } = filling;
    const words = this.words.cards;
    const isOver = !card.available_actions.some((each) => each.action === action.action);
    const said = [this.told, this.problem, isOver ? words.notPossibleNow : ''];
    return html`<greenroom-dialog
      open
      .heading=${actionLabel(card, action, this.types)}
      close-label=${this.words.look.close}
      @close=${this.leaveForm}
    >
      ${
        typeof card.payload['document_id'] === 'string'
          ? html`<p class="main">${card.totals['title'] ?? ''}</p>
              ${
                this.documentUrl
                  ? drawLink(words, this.documentUrl, words.openDocument, 'document')
                  : nothing
              }`
          : nothing
      }
      <greenroom-card-form
        .schema=${schema}
        .context=${context}
        .value=${value}
        .threadId=${card.thread_id}
        .submitLabel=${unanswered ? this.words.look.retry : confirmLabel(this.confirmationOf(card, action))}
        .isDanger=${action.style === 'danger'}
        .isBusy=${this.busy !== null}
        .isOver=${isOver}
        .problem=${said.filter(Boolean).join(' ')}
        @filled=${(event: CustomEvent<{ value: object }>) =>
          this.act(unanswered?.card ?? card, action, event.detail.value)}
        @left=${this.leaveForm}
      ></greenroom-card-form>
    </greenroom-dialog>`;
  }

  readonly #openHistory = async (): Promise<void> => {
    try {
      await loadHistory();
      this.isHistoryOpen = true;
    } catch (error) {
      this.problem = this.session?.explain(error) ?? '';
    }
  };

  readonly #askKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    void this.unask();
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-card': GreenroomCard;
  }
}
