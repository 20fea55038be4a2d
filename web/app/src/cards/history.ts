/** Who did what with a card, and when. */

import type { Card, CardHistory } from '@greenroom/sdk';
import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import '../look/dialog.ts';
import { type HistoryWords, loadHistoryWords } from '../i18n/history.ts';
import type { Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { stateLabel, titleOf } from './catalogue.ts';
import { CardElement } from './element.ts';

/** A drawer. Fires `close`. */
@customElement('greenroom-card-history')
export class GreenroomCardHistory extends CardElement {
  static override styles = [
    ...([CardElement.styles].flat() as []),
    css`
      ol {
        list-style: none;
        margin: 0;
        padding: 0;
      }

      li {
        border-inline-start: 2px solid var(--_line);
        margin-inline-start: 0.4rem;
        padding: 0 0 calc(var(--_space) * 5);
        padding-inline-start: calc(var(--_space) * 4);
        position: relative;
      }

      li::before {
        background: var(--_surface-raised);
        block-size: 0.7rem;
        border: 2px solid var(--_line-strong);
        border-radius: 50%;
        box-sizing: border-box;
        content: '';
        inline-size: 0.7rem;
        inset-block-start: 0.3rem;
        inset-inline-start: calc(-0.35rem - 1px);
        position: absolute;
      }

      li:first-child::before {
        background: var(--_accent);
        border-color: var(--_accent);
      }

      li:last-child {
        border-color: transparent;
      }

      p {
        margin: 0;
      }
    `,
  ];

  @property({ attribute: false }) card: Card | null = null;
  /** Null until the language is there. */
  @state() private historyWords: HistoryWords | null = null;
  @state() private history: readonly CardHistory[] | null = null;
  @state() private problem = '';

  protected override joined(session: Session): Stop[] {
    void this.#load();
    const loadWords = async (): Promise<void> => {
      this.historyWords = await loadHistoryWords(session.locale);
    };
    void loadWords();
    const reload = ({ card }: { card?: Card }): void => {
      if (card && card.id === this.card?.id) void this.#load();
    };
    return [
      ...super.joined(session),
      session.client.on('event', reload),
      session.onChange(() => void loadWords()),
    ];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { card, history, historyWords: words } = this;
    if (!card || !words) return nothing;
    return html`<greenroom-dialog
      open
      drawer
      .heading=${this.words.cards.historyOf(titleOf(card, this.types))}
      close-label=${this.words.look.close}
      @close=${() => this.dispatchEvent(new Event('close'))}
    >
      ${
        this.problem
          ? html`<p class="problem" role="alert">${words.historyFailed} ${this.problem}</p>
              <p><button class="button" @click=${this.#load}>${this.words.look.retry}</button></p>`
          : history
            ? html`<ol>
                ${history.toReversed().map((entry) => this.#entry(words, card, entry))}
              </ol>`
            : html`<p class="quiet">${this.words.look.loading}</p>`
      }
    </greenroom-dialog>`;
  }

  #entry(words: HistoryWords, card: Card, entry: CardHistory): TemplateResult {
    return html`<li>
      <p>${this.#deed(words, card, entry)}</p>
      <p class="small">${stateLabel(card, this.types, entry.to)}</p>
      <p class="quiet small">
        <time datetime=${entry.at}>${this.format.full(entry.at)}</time> ·
        ${words.version(entry.version)}
      </p>
    </li>`;
  }

  #deed(words: HistoryWords, card: Card, { act, actor, from }: CardHistory): string {
    const known = words.acts[act];
    if (known)
      return actor === null ? known(words.byItself) : known(this.doer(card.thread_id, actor));
    const ways = this.types.own.get(card.type)?.transitions ?? [];
    const way = ways.find((each) => each.action === act && each.from.includes(from ?? ''));
    const who = actor === null ? words.byItself : this.doer(card.thread_id, actor);
    return words.otherAct(who, way?.label ?? act);
  }

  readonly #load = async (): Promise<void> => {
    const { session, card } = this;
    if (!session || !card) return;
    this.problem = '';
    try {
      this.history = (await session.client.rest.card(card.id)).history;
    } catch (error) {
      this.problem = session.explain(error);
    }
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-card-history': GreenroomCardHistory;
  }
}
