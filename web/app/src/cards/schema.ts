/** JSON Schemas of cards, in the part of draft 7 that the server allows, as fields of a form. Pure. */

import type { CancelQuote } from './cancelling.ts';

export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: (string | number)[];
  const?: string | number;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
}

export interface Choice {
  value: string;
  label: string;
}

/** What a form knows besides its schema. */
export interface FormContext {
  locale: string;
  /** Where the reader is: the times in the fields are of there. */
  timeZone: string;
  /** Where it happens. */
  zone: string;
  nowMs: number;
  currency: string | null;
  legs: readonly Choice[];
  legId: string | null;
  /** Whether one of the legs has to be chosen. */
  needsLeg: boolean;
  /** By leg, where the card would end one. */
  quotes: Readonly<Record<string, CancelQuote>>;
  /** Those that wait for signatures; null where that is not known. */
  documents: readonly Choice[] | null;
  /** Of the card that is answered: the times to choose among. */
  options: readonly Choice[];
  /** What is known already and not asked: the hash of the document that is signed. */
  fixed: Readonly<Record<string, string>>;
  /** Whether files can be listed here for a card to deliver. */
  canList: boolean;
}

export type Kind =
  | 'object'
  | 'list'
  | 'choice'
  | 'option'
  | 'leg'
  | 'document'
  | 'manifest'
  | 'fixed'
  | 'hidden'
  | 'zone'
  | 'moment'
  | 'date'
  | 'money'
  | 'minutes'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'code'
  | 'long'
  | 'text';

export interface Field {
  name: string;
  kind: Kind;
  schema: Schema;
  isRequired: boolean;
}

const LONG_CHARACTERS = 200;
/** A name for machines, which people write with spaces and capitals. */
const CODE = '^[a-z][a-z0-9_]*$';

/** What must be filled in comes first. */
export function fieldsOf(schema: Schema, context: FormContext): Field[] {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const kind = kindOf(name, property, context);
    const isRequired = required.has(name) || (kind === 'leg' && context.needsLeg);
    return { name, kind, schema: property, isRequired };
  });
  const first = fields.filter(({ isRequired, kind }) => isRequired || kind === 'leg');
  return [...first, ...fields.filter((field) => !first.includes(field))];
}

export function kindOf(name: string, schema: Schema, context: FormContext): Kind {
  if (schema.enum || schema.const !== undefined) return 'choice';
  switch (schema.type) {
    case 'object':
      return 'object';
    case 'array':
      return 'list';
    case 'boolean':
      return 'boolean';
    case 'number':
      return 'number';
    case 'integer':
      return integerKind(name, context);
    default:
      return textKind(name, schema, context);
  }
}

function integerKind(name: string, context: FormContext): Kind {
  if (isMoney(name)) return 'money';
  if (name === 'option' && context.options.length > 0) return 'option';
  return /(^|_)minutes$/.test(name) ? 'minutes' : 'integer';
}

function textKind(name: string, schema: Schema, context: FormContext): Kind {
  if (name in context.fixed) return 'fixed';
  if (name === 'leg_id') return context.legs.length > 1 ? 'leg' : 'hidden';
  if (name === 'document_id' && context.documents) return 'document';
  if (name === 'manifest_id' && context.canList) return 'manifest';
  if (name === 'timezone') return 'zone';
  if (schema.format === 'date-time') return 'moment';
  if (schema.format === 'date') return 'date';
  if (schema.pattern === CODE) return 'code';
  return (schema.maxLength ?? 0) > LONG_CHARACTERS ? 'long' : 'text';
}

/** Whether a form asks for times, anywhere in it. */
export function hasMoments(schema: Schema): boolean {
  if (schema.format === 'date-time') return true;
  const inside = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
  ];
  return inside.some(hasMoments);
}

/** `amount_cents`, `rate_cents_per_hour`. */
export function isMoney(name: string): boolean {
  return /(^|_)cents(_|$)/.test(name);
}

/** `buyer_payable` is read as Buyer payable; what ends in cents is a sum anyway. */
export function humanised(name: string): string {
  const words =
    name
      .replace(/(^|_)(cents|id)(?=_|$)/g, '')
      .replaceAll('_', ' ')
      .trim() || name;
  return words.charAt(0).toUpperCase() + words.slice(1);
}
