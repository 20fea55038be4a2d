/** What the tabs draw from, and the small pieces that they share. */

import type { Card, Leg, Participant, Thread } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';

import type { Format } from '../i18n/format.ts';
import type { PanelWords } from '../i18n/panel.ts';
import { icon, type IconName } from '../look/icons.ts';
import { nameOf, personIn } from '../session/people.ts';

export interface View {
  readonly words: PanelWords;
  readonly format: Format;
  readonly userId: string;
  readonly nowMs: number;
  /** Null until it is known: people are then called by their ids. */
  readonly thread: Thread | null;
  /** The hash that was copied last. */
  readonly copied: string | null;
  avatarOf(person: Participant): string | null;
  showCard(cardId: string): void;
  showMessage(card: Card): void;
  saveCalendar(leg: Leg): void;
  copy(text: string): void;
}

export type Drawn = TemplateResult | typeof nothing;

export function personName(view: View, userId: string): string {
  if (userId === view.userId) return view.words.you;
  const person = personIn(view.thread, userId);
  return person ? nameOf(person) : userId;
}

export function avatar(view: View, userId: string): TemplateResult {
  const person = personIn(view.thread, userId);
  return html`<greenroom-avatar
    .name=${person ? nameOf(person) : userId}
    .userId=${userId}
    .src=${person ? view.avatarOf(person) : null}
  ></greenroom-avatar>`;
}

export type Tone = 'good' | 'notice' | 'bad' | 'plain';

export function chip(text: string, tone: Tone): TemplateResult {
  return html`<span class="chip ${tone}">${text}</span>`;
}

export function empty(name: IconName, title: string, ...hints: string[]): TemplateResult {
  return html`<div class="empty">
    <span class="emblem">${icon(name)}</span>
    <h3>${title}</h3>
    ${hints.map((hint) => html`<p>${hint}</p>`)}
  </div>`;
}

export function showButton(view: View, label: string, run: () => void): TemplateResult {
  const { showInConversation } = view.words;
  return html`<button class="link" aria-label=${`${showInConversation}: ${label}`} @click=${run}>
    ${showInConversation}${icon('forward')}
  </button>`;
}
