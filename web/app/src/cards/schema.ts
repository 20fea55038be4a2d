/** JSON Schemas of cards, in the part of draft 7 that the server allows, as fields of a form. Pure. */

import type { StoredFile } from '@greenroom/sdk';

import type { FormWords } from '../i18n/forms.ts';
import type { CancelQuote } from './cancelling.ts';
import { isMoney } from './naming.ts';

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
  /** The id of a file that is uploaded for this purpose. */
  'x-file'?: 'proof' | 'receipt';
  /** Not asked for and not shown: for machines. */
  'x-hidden'?: boolean;
}

export interface Choice {
  value: string;
  label: string;
}

/** What a form knows besides its schema. */
export interface FormContext {
  words: FormWords;
  locale: string;
  /** Where the reader is: the times in the fields are of there. */
  timeZone: string;
  /** Where it happens. */
  zone: string;
  nowMs: number;
  currency: string | null;
  legs: readonly Choice[];
  legId: string | null;
  /** When each leg is booked for now, in words. */
  booked: Readonly<Record<string, string>>;
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
  /** Of the card that is answered. */
  pictures: readonly StoredFile[];
  /** Whether the previews of its pictures have a text across them. */
  isMarked: boolean;
  /** Whether files can be listed here for a card to deliver. */
  canList: boolean;
  /** What the form does not ask for, and what was filled in decides. */
  implied(value: { leg_id?: string }): Record<string, string>;
}

export type Kind =
  | 'object'
  | 'list'
  | 'choice'
  | 'option'
  | 'leg'
  | 'document'
  | 'manifest'
  | 'file'
  | 'files'
  | 'notes'
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
  if (schema['x-hidden']) return 'hidden';
  if (schema.enum || schema.const !== undefined) return 'choice';
  switch (schema.type) {
    case 'object':
      return 'object';
    case 'array':
      if (name === 'file_notes' && context.pictures.length > 0) return 'notes';
      return schema.items?.['x-file'] ? 'files' : 'list';
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
  if (schema['x-file']) return 'file';
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

/** Whether a form cannot be sent, however it is filled in: there is no document to ask about. */
export function lacksDocument(schema: Schema, context: FormContext): boolean {
  return fieldsOf(schema, context).some(
    ({ kind, isRequired }) => kind === 'document' && isRequired && !context.documents?.length,
  );
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

/** Whether a form asks for the time of something: from when to when. */
export function hasRange({ properties = {} }: Schema): boolean {
  const { start, end, options } = properties;
  return Boolean(start && end) || Boolean(options?.items && hasRange(options.items));
}
