/** How many conversations have something unread, for a navigation. Nothing where there is none. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';

import { tokens } from '../look/tokens.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { countsOf } from './counts.ts';

const MOST_SHOWN = 99;

@customElement('greenroom-unread')
export class GreenroomUnread extends GreenroomElement {
  static override styles = [
    tokens,
    GreenroomElement.styles,
    css`
      :host {
        display: inline-flex;
        vertical-align: middle;
      }

      .badge {
        background: var(--_accent);
        border: 1px solid transparent;
        border-radius: 1em;
        color: var(--_on-accent);
        font-size: var(--_size-tiny);
        font-variant-numeric: tabular-nums;
        font-weight: 650;
        line-height: 1.5;
        min-inline-size: 1.75em;
        padding-inline: 0.45em;
        text-align: center;
      }
    `,
  ];

  protected override joined(session: Session): Stop[] {
    return [countsOf(session).onChange(() => this.requestUpdate())];
  }

  protected override render(): TemplateResult | typeof nothing {
    const count = this.session ? (countsOf(this.session).now?.all ?? 0) : 0;
    if (count === 0) return nothing;
    const most = this.format.number(Math.min(count, MOST_SHOWN));
    const shown = count > MOST_SHOWN ? `${most}+` : most;
    return html`<span class="badge" part="badge" aria-hidden="true">${shown}</span>
      <span class="visually-hidden">${this.words.inbox.unreadThreads(count)}</span>`;
  }
}
