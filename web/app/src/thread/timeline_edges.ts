/** What stands above the first message and below the last. */

import { html, nothing, type TemplateResult } from 'lit';

import type { Format } from '../i18n/format.ts';
import type { Words } from '../i18n/index.ts';
import { icon } from '../look/icons.ts';
import { nameOf, othersIn } from '../session/people.ts';
import type { Conversation } from './conversation.ts';

export interface Edge {
  readonly conversation: Conversation | null;
  readonly userId: string;
  readonly words: Words;
  readonly format: Format;
}

/** `isWhole`: the first message that is loaded is the first that is shown. */
export function timelineTop(edge: Edge, isWhole: boolean): TemplateResult | typeof nothing {
  const { conversation, words } = edge;
  if (!conversation?.isFresh) return nothing;
  if (conversation.olderFailed) {
    return html`<div class="top" role="alert">
      ${words.thread.olderFailed}
      <button class="button" @click=${() => conversation.loadOlder()}>${words.look.retry}</button>
    </div>`;
  }
  if (conversation.loaded.hasOlder || !isWhole) {
    return html`<div class="top">${words.thread.loadingOlder}</div>`;
  }
  const names = namesIn(edge);
  const isTalk = names !== '' && conversation.thread?.kind !== 'system';
  return isTalk ? html`<div class="top">${words.thread.beginning(names)}</div>` : nothing;
}

/** Instead of messages: none are there, or not yet. */
export function noMessages(edge: Edge): TemplateResult {
  const { thread } = edge.words;
  if (!edge.conversation?.isFresh) return ghosts;
  const names = namesIn(edge);
  return html`<div class="empty">
    <p class="lead">${thread.empty}</p>
    ${names ? html`<p>${thread.emptyHint(names)}</p>` : nothing}
  </div>`;
}

export function latestButton(
  newCount: number,
  { words, format }: Pick<Edge, 'words' | 'format'>,
  jump: () => void,
): TemplateResult {
  const { thread } = words;
  const label = newCount > 0 ? thread.toLatestWithNew(newCount) : thread.toLatest;
  return html`<button class="to-latest" aria-label=${label} title=${label} @click=${jump}>
    ${icon('down')}
    ${newCount > 0 ? html`<span class="count">${format.number(newCount)}</span>` : nothing}
  </button>`;
}

/** At the end, while something new above was passed over. */
export function newAboveBar(
  count: number,
  { words, format }: Pick<Edge, 'words' | 'format'>,
  show: () => void,
  readAll: () => void,
): TemplateResult {
  const { thread } = words;
  return html`<div class="new-above">
    <button class="button small" @click=${show}>
      <span class="up">${icon('down')}</span>${thread.newAbove(count, format.number(count))}
    </button>
    <button
      class="icon-button"
      aria-label=${thread.markRead}
      title=${thread.markRead}
      @click=${readAll}
    >
      ${icon('check')}
    </button>
  </div>`;
}

/** The shape of a conversation. */
const ghosts = html`<div class="ghost"></div>
  <div class="ghost own"></div>
  <div class="ghost tall"></div>
  <div class="ghost own"></div>`;

function namesIn({ conversation, userId, format }: Edge): string {
  const thread = conversation?.thread;
  return thread ? format.list(othersIn(thread, userId).map(nameOf)) : '';
}
