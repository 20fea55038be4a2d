/** Over the messages of a project: what is booked, when, for how much, and what comes next. */

import type { Card, Leg, Panel, PanelTimer, Thread } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { untilOf, whenOf } from '../i18n/when.ts';
import { icon, type IconName } from '../look/icons.ts';
import type { Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { isAboutBooking } from './booking_events.ts';
import { sumsInShort } from './booking_sums.ts';
import { isAwaited, legShown, nextTimer, shortTime } from './booking_timers.ts';
import { panels } from './loaders.ts';
import { CardElement } from './element.ts';
import { chip } from './style.ts';

const REDRAW_MS = 20_000;
/** A burst of events is one change. */
const SETTLE_MS = 400;

const LOOKS: Record<Leg['state'], [tone: string, icon: IconName]> = {
  proposed: ['', 'clock'],
  confirmed: ['good', 'check'],
  in_progress: ['running', 'clock'],
  completed: ['good', 'check'],
  cancelled: ['bad', 'close'],
  disputed: ['bad', 'warning'],
};

/** Fires `greenroom-panel` when it is pressed. Shows nothing for threads without a booking. */
@customElement('greenroom-booking-header')
export class GreenroomBookingHeader extends CardElement {
  static override styles = [
    ...([CardElement.styles].flat() as []),
    chip,
    css`
      :host {
        container-type: inline-size;
        display: block;
      }

      .strip {
        align-items: center;
        background: var(--_surface-raised);
        border-block-end: 1px solid var(--_line);
        display: flex;
        gap: calc(var(--_space) * 2);
        padding-inline: calc(var(--_space) * 4);
      }

      .open {
        align-items: center;
        background: transparent;
        border: 0;
        border-radius: var(--_radius-small);
        display: grid;
        flex: 1;
        gap: 0 calc(var(--_space) * 3);
        grid-template-columns: auto minmax(0, 1fr) auto;
        min-block-size: 2.75rem;
        min-inline-size: 0;
        padding: calc(var(--_space) * 2) calc(var(--_space) * 1);
        text-align: start;
      }

      .title {
        font-weight: 600;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }

      .next {
        align-items: center;
        display: flex;
        font-size: var(--_size-small);
        font-variant-numeric: tabular-nums;
        white-space: nowrap;
      }

      .short {
        align-items: center;
        color: var(--_text-quiet);
        display: none;
        gap: var(--_space);
      }

      .more {
        color: var(--_text-quiet);
        display: flex;
        flex-wrap: wrap;
        font-size: var(--_size-small);
        gap: 0 calc(var(--_space) * 3);
        grid-column: 1 / -1;
        padding-block-start: var(--_space);
      }

      .toggle {
        display: none;
      }

      .toggle[aria-expanded='true'] svg {
        transform: rotate(180deg);
      }

      @container (max-width: 36rem) {
        .strip {
          padding-inline: calc(var(--_space) * 2);
        }

        .toggle {
          display: inline-flex;
        }

        .more:not(.shown) {
          display: none;
        }

        .short {
          display: inline-flex;
        }

        .long,
        .chip .word {
          block-size: 1px;
          clip-path: inset(50%);
          inline-size: 1px;
          overflow: hidden;
          position: absolute;
          white-space: nowrap;
        }

        .chip {
          padding: var(--_space);
        }
      }
    `,
  ];

  @property({ attribute: false }) thread: Thread | null = null;
  @state() private panel: Panel | null = null;
  @state() private isOpen = false;
  #waiting: ReturnType<typeof setTimeout> | null = null;

  protected override joined(session: Session): Stop[] {
    void this.#load();
    return [
      ...super.joined(session),
      this.redrawEvery(REDRAW_MS),
      session.onReload(() => this.#loadAnew()),
      session.client.on('begun', () => void this.#loadAnew()),
      session.client.on('event', (event) => {
        if (event.thread_id === this.thread?.id && isAboutBooking(event)) this.#loadSoon();
      }),
      () => clearTimeout(this.#waiting ?? undefined),
    ];
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    const before = changed.get('thread') as Thread | null | undefined;
    if (!changed.has('thread') || before?.id === this.thread?.id) return;
    this.panel = null;
    this.isOpen = false;
    void this.#load();
  }

  protected override render(): TemplateResult | typeof nothing {
    const { panel } = this;
    const leg = panel && legShown(panel);
    if (!panel || !leg) return nothing;
    const words = this.words.cards;
    const [tone, sign] = LOOKS[leg.state];
    const next = nextTimer(panel, leg, this.nowMs);
    return html`<div class="strip" role="group" aria-label=${words.booking}>
      <button class="open" @click=${this.#openPanel}>
        <span class="chip ${tone}"
          >${icon(sign)}<span class="word">${words.legStates[leg.state]}</span></span
        >
        <span class="title" dir="auto">${leg.title}</span>
        ${next ? this.#next(next, leg) : nothing}
        <span class="more ${this.isOpen ? 'shown' : ''}" id="more"
          >${this.#details(panel, leg)}</span
        >
      </button>
      <button
        class="icon-button toggle"
        aria-expanded=${this.isOpen}
        aria-controls="more"
        aria-label=${this.isOpen ? words.hideDetails : words.showDetails}
        @click=${() => (this.isOpen = !this.isOpen)}
      >
        ${icon('chevron')}
      </button>
    </div>`;
  }

  #details({ booking }: Panel, leg: Leg): TemplateResult {
    const words = this.words.cards;
    const { format } = this;
    const { event, zone, yours } = whenOf(format, leg.start, leg.end, leg.timezone);
    const sums = booking?.sums ?? leg.sums;
    const others = (booking?.legs.length ?? 1) - 1;
    return html`<span
        ><time datetime=${leg.start}>${event}</time
        >${zone ? ` · ${words.inZone(zone)}` : nothing}</span
      >
      ${yours ? html`<span>${words.yourTime(yours)}</span>` : nothing}
      ${others > 0 ? html`<span>${words.moreLegs(others)}</span>` : nothing}
      ${sumsInShort(sums).map(
        (name) => html`<span class="number">${words.sums[name](format.money(sums[name]))}</span>`,
      )}`;
  }

  /** Where there is little room a time alone, which is then the booking's own. */
  #next(timer: PanelTimer, leg: Leg): TemplateResult {
    return html`<span class="next">
      <span class="long">${this.#comes(timer)}</span>
      <span class="short" aria-hidden="true"
        >${icon('clock')}<bdi>${shortTime(this.format, timer, leg, this.nowMs)}</bdi></span
      >
    </span>`;
  }

  #comes({ kind, at, card_id }: PanelTimer): string {
    const words = this.words.cards;
    const until = untilOf(this.format, at, this.nowMs);
    const card = this.#card(card_id);
    const isMine = kind === 'card_expires' && isAwaited(card, this.userId);
    const text = isMine ? words.answerWithin(until) : words.timers[kind](until);
    return [card?.labels?.title, text].filter(Boolean).join(': ');
  }

  #card(cardId: string | null): Card | undefined {
    const known = this.session?.client.state.threads.get(this.thread?.id ?? '');
    return known?.messages.find(({ card }) => card?.id === cardId)?.card ?? undefined;
  }

  readonly #openPanel = (): void => {
    this.tell('greenroom-panel', { threadId: this.thread?.id });
  };

  #loadSoon(): void {
    this.#waiting ??= setTimeout(() => {
      this.#waiting = null;
      void this.#loadAnew();
    }, SETTLE_MS);
  }

  #loadAnew(): Promise<void> {
    if (this.session && this.thread) panels.forget(this.session, this.thread.id);
    return this.#load();
  }

  /** A header that cannot be loaded is not shown: the messages below are what people came for. */
  async #load(): Promise<void> {
    const { session, thread } = this;
    if (!session || thread?.kind !== 'project') return;
    const panel = await panels.get(session, thread.id).catch(() => null);
    if (panel && thread.id === this.thread?.id) this.panel = panel;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-booking-header': GreenroomBookingHeader;
  }
}
