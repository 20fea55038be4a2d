/** How messages come in just now: a quiet dot while all is well, words when it is not. */

import type { ConnectionState } from '@greenroom/sdk';
import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';

import { tokens } from '../look/tokens.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { Steady } from './steady.ts';

/** A connection that is back before this was hardly away. */
const LASTS_MS = 2_000;

@customElement('greenroom-connection')
export class GreenroomConnection extends GreenroomElement {
  static override styles = [
    tokens,
    GreenroomElement.styles,
    css`
      :host {
        display: inline-flex;
        min-inline-size: 0;
      }

      .line {
        align-items: center;
        color: var(--_text-quiet);
        display: inline-flex;
        font-size: var(--_size-small);
        gap: calc(var(--_space) * 1.5);
        min-block-size: 1.5rem;
        min-inline-size: 0;
      }

      .line > span:last-child:not(.visually-hidden) {
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }

      .dot {
        background: var(--_notice);
        block-size: 0.5rem;
        border-radius: 50%;
        flex: none;
        forced-color-adjust: none;
        inline-size: 0.5rem;
      }

      .live .dot {
        background: var(--_live);
        opacity: 0.75;
      }

      .polling .dot {
        background: transparent;
        border: 2px solid var(--_live);
      }

      .offline .dot,
      .closed .dot {
        background: transparent;
        border: 2px solid var(--_text-quiet);
      }

      @media (prefers-reduced-motion: no-preference) {
        .reconnecting .dot {
          animation: breathe 1.6s ease-in-out infinite;
        }
      }

      @keyframes breathe {
        50% {
          opacity: 0.3;
        }
      }
    `,
  ];

  @state() private shown: ConnectionState | null = null;
  /** Whoever has not been connected yet does not connect again. */
  #wasConnected = false;

  protected override joined(session: Session): Stop[] {
    const { client, clock } = session;
    const steady = new Steady<ConnectionState>(clock, LASTS_MS, (value) => (this.shown = value));
    const look = (): void => {
      const { state: now } = client.connection;
      // The first good news needs no patience.
      const isGood = now === 'live' || now === 'polling';
      this.#wasConnected ||= isGood;
      if (this.shown === null && isGood) steady.now(now);
      else steady.set(now);
    };
    look();
    return [client.on('connection', look), () => steady.stop(), () => this.#forget()];
  }

  #forget(): void {
    this.shown = null;
    this.#wasConnected = false;
  }

  protected override render(): TemplateResult {
    const { shown } = this;
    const { inbox: words } = this.words;
    const isFirst = shown === 'reconnecting' && !this.#wasConnected;
    const text = isFirst ? words.connecting : shown ? words[shown] : '';
    return html`<span
      class="line ${shown ?? ''}"
      part="connection"
      role="status"
      title=${text || nothing}
      >${shown ? html`<span class="dot"></span>` : nothing}
      <span class=${shown === 'live' ? 'visually-hidden' : ''}>${text}</span></span
    >`;
  }
}
