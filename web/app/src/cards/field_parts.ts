/** What every field of a form has: a name, a hint, and what is wrong with it. */

import { html, nothing, type TemplateResult } from 'lit';

import type { Format } from '../i18n/format.ts';
import type { Words } from '../i18n/index.ts';
import { nameOfProperty } from './facts.ts';
import type { Field, FormContext, Schema } from './schema.ts';
import type { FieldFault, Raw } from './values.ts';

/** What the templates need of the form around them. */
export interface FormDesk {
  context: FormContext;
  words: Words['cards'];
  format: Format;
  faults: readonly FieldFault[];
  threadId: string;
  isLocating: boolean;
  set(path: string, value: Raw): void;
  addRow(path: string, schema: Schema): void;
  removeRow(path: string, index: number): void;
  locate(path: string): void;
}

export type Drawn = TemplateResult | typeof nothing;

export function idOf(path: string): string {
  return `field-${path.replaceAll('.', '-')}`;
}

export function label(desk: FormDesk, { name, schema, isRequired, kind }: Field): TemplateResult {
  const isAsked = isRequired || kind === 'boolean';
  return html`${nameOfProperty(desk.words, name, schema)}${
    isAsked ? nothing : html` <span class="quiet small">(${desk.words.optional})</span>`
  }`;
}

export function faultAt(desk: FormDesk, path: string): FieldFault | undefined {
  return desk.faults.find((each) => each.path === path);
}

export function drawFault(desk: FormDesk, path: string): Drawn {
  const found = faultAt(desk, path);
  return found
    ? html`<p class="fault small" id="${idOf(path)}-fault">${sayFault(desk, found)}</p>`
    : nothing;
}

function sayFault(
  { words, format, context }: FormDesk,
  { fault, limit, isSum }: FieldFault,
): string {
  const { currency } = context;
  const number = limit ?? 0;
  const shown =
    isSum && currency ? format.money({ amount_cents: number, currency }) : format.number(number);
  return words.faults[fault](shown);
}

export function describedBy(
  desk: FormDesk,
  path: string,
  hasHint: boolean,
): string | typeof nothing {
  const ids = [
    hasHint ? `${idOf(path)}-hint` : '',
    faultAt(desk, path) ? `${idOf(path)}-fault` : '',
  ];
  return ids.filter(Boolean).join(' ') || nothing;
}

export function hintOf(desk: FormDesk, { kind, schema, isRequired }: Field): string {
  if (schema.description) return schema.description;
  return kind === 'minutes' && !isRequired ? desk.words.minutesHint : '';
}

export function drawHint(hint: string, path: string): Drawn {
  return hint ? html`<p class="quiet small" id="${idOf(path)}-hint">${hint}</p>` : nothing;
}
