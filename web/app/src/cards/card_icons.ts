/** The icon of each card type, and of each tone of a state. */

import type { IconName } from '../look/icons.ts';
import type { Tone } from './catalogue.ts';

const TYPES: Record<string, IconName> = {
  cancel: 'warning',
  complete: 'check',
  deliverable: 'files',
  expense: 'money',
  extras: 'list',
  location: 'place',
  overtime: 'clock',
  proofs: 'board',
  propose_time: 'calendar',
  refund: 'money',
  reschedule: 'calendar',
  sign: 'edit',
};
const TONES: Record<Exclude<Tone, 'running'>, IconName> = {
  yours: 'bell',
  waiting: 'clock',
  good: 'check',
  bad: 'close',
  over: 'minus',
};

/** Types of a marketplace's own have a common one. */
export function iconOf(type: string): IconName {
  return TYPES[type] ?? 'info';
}

export function toneIcon(tone: Tone): IconName | null {
  return tone === 'running' ? null : TONES[tone];
}
