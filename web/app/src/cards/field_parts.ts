/** The parts that every field of a form has: label, hint and error text. */

import { html, nothing, type TemplateResult } from 'lit';

import type { Format } from '../i18n/format.ts';
import type { FormWords } from '../i18n/forms.ts';
import type { Words } from '../i18n/index.ts';
import { nameOfProperty } from './facts.ts';
import type { Field, FormContext, Schema } from './schema.ts';
import type { FieldFault, Raw } from './values.ts';

/** What the templates need of the form around them. */
export interface FormHost {
  context: FormContext;
  words: Words['cards'] & FormWords;
  format: Format;
  faults: readonly FieldFault[];
  threadId: string;
  isLocating: boolean;
  /** The text across the previews of proofs; empty for none. */
  watermark: string;
  set(path: string, value: Raw): void;
  addRow(path: string, schema: Schema): void;
  removeRow(path: string, index: number): void;
  locate(path: string): void;
}

export type Drawn = TemplateResult | typeof nothing;

export function idOf(path: string): string {
  return `field-${path.replaceAll('.', '-')}`;
}

export function label(host: FormHost, { name, schema, isRequired, kind }: Field): TemplateResult {
  const isAsked = isRequired || kind === 'boolean';
  return html`${nameOfProperty(host.words, name, schema)}${
    isAsked ? nothing : html` <span class="quiet small">(${host.words.optional})</span>`
  }`;
}

export function faultAt(host: FormHost, path: string): FieldFault | undefined {
  return host.faults.find((each) => each.path === path);
}

export function drawFault(host: FormHost, path: string): Drawn {
  const found = faultAt(host, path);
  return found
    ? html`<p class="fault small" id="${idOf(path)}-fault">${sayFault(host, found)}</p>`
    : nothing;
}

function sayFault(
  { words, format, context }: FormHost,
  { fault, limit, isSum }: FieldFault,
): string {
  const { currency } = context;
  const number = limit ?? 0;
  const shown =
    isSum && currency ? format.money({ amount_cents: number, currency }) : format.number(number);
  return words.faults[fault](shown);
}

export function describedBy(
  host: FormHost,
  path: string,
  hasHint: boolean,
): string | typeof nothing {
  const ids = [
    hasHint ? `${idOf(path)}-hint` : '',
    faultAt(host, path) ? `${idOf(path)}-fault` : '',
  ];
  return ids.filter(Boolean).join(' ') || nothing;
}

export function hintOf(host: FormHost, { kind, schema, isRequired }: Field): string {
  if (schema.description) return schema.description;
  return kind === 'minutes' && !isRequired ? host.words.minutesHint : '';
}

export function drawHint(hint: string, path: string): Drawn {
  return hint ? html`<p class="quiet small" id="${idOf(path)}-hint">${hint}</p>` : nothing;
}
