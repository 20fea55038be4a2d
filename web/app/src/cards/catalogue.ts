/** What the catalogue says of a card: its words in the reader's language, and how its states feel. Pure. */

import type { Card, CardAction, CardTransition, CardType, CardTypeState } from '@greenroom/sdk';

/** The types in the reader's language and, to find a label again, in English. */
export interface Types {
  own: ReadonlyMap<string, CardType>;
  english: ReadonlyMap<string, CardType>;
}

export const NO_TYPES: Types = { own: new Map(), english: new Map() };

/** `yours`: the reader is awaited. `running`: nobody is, it goes on by itself. */
export type Tone = 'yours' | 'waiting' | 'running' | 'good' | 'bad' | 'over';

export function titleOf(card: Card, types: Types): string {
  return types.own.get(card.type)?.title ?? card.labels?.title ?? card.type;
}

export function stateOf(type: CardType | undefined, state: string): CardTypeState | undefined {
  return type?.states.find((each) => each.state === state);
}

export function stateLabel(card: Card, types: Types, state = card.state): string {
  const known = stateOf(types.own.get(card.type), state);
  const ownLabel = state === card.state ? card.labels?.state : undefined;
  return known?.label ?? ownLabel ?? state;
}

/** Cards bring English labels. Where two transitions share an action, the label tells them apart. */
export function actionLabel(card: Card, action: CardAction, types: Types): string {
  const at = transitionIndex(card, action, types.english.get(card.type));
  return types.own.get(card.type)?.transitions[at]?.label ?? action.label;
}

export function transitionOf(card: Card, action: CardAction, types: Types): CardTransition | null {
  const english = types.english.get(card.type);
  return english?.transitions[transitionIndex(card, action, english)] ?? null;
}

function transitionIndex(card: Card, action: CardAction, english: CardType | undefined): number {
  const ways = english?.transitions ?? [];
  const isWay = (way: CardTransition): boolean =>
    way.action === action.action && way.from.includes(card.state);
  const exact = ways.findIndex((way) => isWay(way) && way.label === action.label);
  return exact >= 0 ? exact : ways.findIndex(isWay);
}

/** How a state feels is read from the ways into it: what a primary button leads to is good. */
export function toneOf(card: Card, types: Types, userId: string): Tone {
  const type = types.own.get(card.type);
  const state = stateOf(type, card.state);
  const ways = type?.transitions.filter((way) => way.to === card.state) ?? [];
  const isRefused = ways.some((way) => way.style === 'danger' || way.action === 'failed');
  if (isRefused) return 'bad';
  if (state?.open || card.waits_for.length > 0) {
    if (card.waits_for.includes(userId)) return 'yours';
    return card.waits_for.length > 0 || (state?.turn.length ?? 0) > 0 ? 'waiting' : 'running';
  }
  if (ways.some((way) => way.style === 'primary' || way.action === 'succeeded')) return 'good';
  return state && !state.final ? 'running' : 'over';
}

/** Whether a payment provider is being waited for: the server alone ends such a state. */
export function isSettling(card: Card, types: Types): boolean {
  const ways = types.own.get(card.type)?.transitions ?? [];
  return ways.some((way) => way.from.includes(card.state) && way.action === 'succeeded');
}

/** Whether work counts as accepted, and is paid for, when nobody answers in time. */
export function paysBySilence(card: Card, types: Types): boolean {
  const ways = types.own.get(card.type)?.transitions ?? [];
  return ways.some((way) => way.from.includes(card.state) && way.action === 'auto_accept');
}

/** What an action does with money, so that it is asked for with the sum. */
export type Moving = 'charge' | 'refund' | 'cancel' | 'complete' | null;

export function movingOf(card: Card, action: CardAction, types: Types): Moving {
  const effects = transitionOf(card, action, types)?.effects ?? [];
  if (effects.some((effect) => effect.startsWith('charge'))) return 'charge';
  if (effects.includes('queue_refund')) return 'refund';
  if (effects.includes('complete_leg')) return 'complete';
  return effects.includes('cancel_leg') ? 'cancel' : null;
}

/** Whether cards of this type end a part of a booking when they are accepted. */
export function cancelsLeg({ transitions }: CardType): boolean {
  return transitions.some(({ effects }) => effects.includes('cancel_leg'));
}
