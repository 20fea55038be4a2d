/** Open cards: what waits for the viewer, then what waits for the others. */

import type { Actions, Card } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

import '../cards/index.ts';
import { splitCards } from './facts.ts';
import { type Drawn, empty, showButton, type View } from './view.ts';

export function actionsTab(view: View, tab: Actions): TemplateResult {
  const { words } = view;
  if (tab.cards.length === 0) return empty('check', words.noActions, words.noActionsHint);
  const { mine, others } = splitCards(tab.cards, view.userId);
  return html`${part(view, words.waitsForYou, mine)}${part(view, words.waitsForOthers, others)}`;
}

function part(view: View, heading: string, cards: readonly Card[]): Drawn {
  if (cards.length === 0) return nothing;
  return html`<section>
    <h3>${heading}</h3>
    <ul class="cards">
      ${repeat(
        cards,
        ({ id }) => id,
        (card) => openCard(view, card),
      )}
    </ul>
  </section>`;
}

function openCard(view: View, card: Card): TemplateResult {
  const title = card.labels?.title ?? card.type;
  const show = showButton(view, title, () => view.showMessage(card));
  return html`<li>
    <greenroom-card .card=${card}></greenroom-card>
    ${card.message_id ? show : nothing}
  </li>`;
}
