/** The card types that a person may create in a thread, grouped for the menu. Pure. */

import type { CardType } from '@greenroom/sdk';

import { cancelsLeg, type Types } from './catalogue.ts';

export interface Maker {
  kind: string;
  role: string;
  hasBooking: boolean;
}

/** The types that somebody may make here, as far as the catalogue tells. */
export function creatableTypes(types: Types, { kind, role, hasBooking }: Maker): CardType[] {
  return [...types.own.values()].filter(
    (type) =>
      type.threads.includes(kind) && type.create.includes(role) && (hasBooking || !type.needs_leg),
  );
}

export type Stage = CardType['menu']['likely'][number];
export type Group = CardType['menu']['group'];

const GROUPS: readonly Group[] = ['time', 'money', 'delivery', 'other', 'problems'];
const MOST_LIKELY = 3;

/** What can be made, as a list presents it: what is likely now, then the rest by group. Problems
 * come last: what ends a booking is not what a hand should meet first. */
export function menuOf(
  types: readonly CardType[],
  stage: Stage,
): { group: Group | 'likely'; types: CardType[] }[] {
  const likely = types.filter(({ menu }) => menu.likely.includes(stage)).slice(0, MOST_LIKELY);
  const rest = types
    .filter((type) => !likely.includes(type))
    .sort((one, other) => Number(cancelsLeg(one)) - Number(cancelsLeg(other)));
  return [
    { group: 'likely' as const, types: likely },
    ...GROUPS.map((group) => ({ group, types: rest.filter(({ menu }) => menu.group === group) })),
  ].filter((section) => section.types.length > 0);
}
