/** Between what a card's schema takes and what stands in the fields of its form. Pure. */

import { centsOf, moneyText } from './money.ts';
import {
  type Field,
  fieldsOf,
  type FormContext,
  type Kind,
  kindOf,
  type Schema,
} from './schema.ts';
import { momentOf, wallTime, type WallTime } from '../i18n/wall_time.ts';

/** `given` is the value that the fields were filled with: untouched fields give it back as it was. */
export interface RawMoment extends WallTime {
  given?: string;
}

export type Raw = string | boolean | RawMoment | Raw[] | { [name: string]: Raw };
export type RawObject = Record<string, Raw>;

export type Fault =
  | 'required'
  | 'tooShort'
  | 'tooLong'
  | 'tooSmall'
  | 'tooLarge'
  | 'tooFew'
  | 'tooMany'
  | 'noSum'
  | 'noInteger'
  | 'noNumber'
  | 'noMoment'
  | 'noSuchTime'
  | 'pattern'
  | 'endsBeforeStart';

/** `limit`: the number that a fault is about. `isSum`: it is cents. */
export interface FieldFault {
  path: string;
  fault: Fault;
  limit?: number;
  isSum?: boolean;
}

export interface Read {
  value: unknown;
  faults: FieldFault[];
}

const HOUR_MS = 3_600_000;
const LISTS: ReadonlySet<Kind> = new Set<Kind>(['list', 'files', 'notes']);
const SHARED_HOURS = 2;

export function rawOf(schema: Schema, value: unknown, context: FormContext): RawObject {
  const known = (value ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    fieldsOf(schema, context).map((field) => [
      field.name,
      rawField(field, known[field.name], context),
    ]),
  );
}

/** A form for something new begins with what is most likely meant. */
export function beginning(schema: Schema, context: FormContext): RawObject {
  const raw = rawOf(schema, guesses(schema, context), context);
  for (const { name, kind, schema: property, isRequired } of fieldsOf(schema, context)) {
    if (kind !== 'list' || !isRequired || !property.items) continue;
    raw[name] = [newRow(property.items, context)];
  }
  return raw;
}

export function newRow(schema: Schema, context: FormContext): Raw {
  if (schema.type === 'object') return rawOf(schema, guesses(schema, context), context);
  return rawField(itemField(schema, context), undefined, context);
}

function guesses(schema: Schema, context: FormContext): Record<string, unknown> {
  const { zone, legId, nowMs, timeZone } = context;
  const untilMs = Math.ceil((nowMs + SHARED_HOURS * HOUR_MS) / 300_000) * 300_000;
  const likely: Record<string, unknown> = {
    timezone: zone,
    leg_id: legId ?? undefined,
    until: new Date(untilMs).toISOString(),
    date: wallTime(nowMs, timeZone).date,
    qty: 1,
    buyer_payable: true,
    option: context.options.length === 1 ? 0 : undefined,
  };
  const names = Object.keys(schema.properties ?? {}).filter((name) => name in likely);
  return Object.fromEntries(names.map((name) => [name, likely[name]]));
}

function rawField(field: Field, value: unknown, context: FormContext): Raw {
  const { kind, schema, name } = field;
  if (kind === 'object') return rawOf(schema, value, context);
  if (LISTS.has(kind)) return rawList(schema, value, context);
  if (kind === 'fixed') return context.fixed[name] ?? '';
  if (value === undefined || value === null) return kind === 'moment' ? { date: '', time: '' } : '';
  if (kind === 'boolean') return value === true;
  if (kind === 'money') return moneyText(value as number, context.locale, context.currency);
  if (kind === 'moment') {
    return { ...wallTime(value as string, context.timeZone), given: value as string };
  }
  return `${value as string | number}`;
}

function rawList(schema: Schema, value: unknown, context: FormContext): Raw[] {
  const items = schema.items ?? {};
  const field = itemField(items, context);
  return ((value ?? []) as unknown[]).map((each) => rawField(field, each, context));
}

function itemField(schema: Schema, context: FormContext): Field {
  return { name: '', kind: kindOf('', schema, context), schema, isRequired: true };
}

/** The value to send, or what is wrong and where. */
export function read(schema: Schema, raw: RawObject, context: FormContext): Read {
  const faults: FieldFault[] = [];
  const value = readObject(schema, raw, context, '', faults);
  // Notes stand for all pictures or with single ones; one of the two has to say something.
  const hasBoth = schema.properties?.['notes'] && schema.properties['file_notes'];
  if (hasBoth && value['notes'] === undefined && value['file_notes'] === undefined) {
    faults.push({ path: 'notes', fault: 'required' });
  }
  return { value, faults };
}

function readObject(
  schema: Schema,
  raw: RawObject,
  context: FormContext,
  path: string,
  faults: FieldFault[],
): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const field of fieldsOf(schema, context)) {
    const given = readField(field, raw[field.name] ?? '', context, path + field.name, faults);
    if (given !== undefined) value[field.name] = given;
  }
  const { start, end } = value;
  const isRange = typeof start === 'string' && typeof end === 'string';
  if (isRange && Date.parse(end) <= Date.parse(start)) {
    faults.push({ path: `${path}end`, fault: 'endsBeforeStart' });
  }
  return value;
}

function readField(
  field: Field,
  raw: Raw,
  context: FormContext,
  path: string,
  faults: FieldFault[],
): unknown {
  const { kind, schema, isRequired } = field;
  if (kind === 'hidden' && isBlank(raw)) return undefined;
  if (kind === 'object') {
    if (!isRequired && isBlank(raw)) return undefined;
    return readObject(schema, raw as RawObject, context, `${path}.`, faults);
  }
  if (LISTS.has(kind)) return readList(field, raw as Raw[], context, path, faults);
  if (kind === 'boolean') return raw === '' ? (isRequired ? false : undefined) : raw;
  if (isBlank(raw)) {
    if (isRequired) faults.push({ path, fault: 'required' });
    return undefined;
  }
  const { value, fault } = readLeaf(field, raw, context);
  const wrong = fault ? { fault } : outside(schema, value, kind === 'money');
  if (wrong) faults.push({ path, ...wrong });
  return value;
}

function readList(
  { schema, isRequired }: Field,
  raw: Raw[],
  context: FormContext,
  path: string,
  faults: FieldFault[],
): unknown[] | undefined {
  const rows = raw || [];
  if (rows.length === 0 && !isRequired) return undefined;
  const { minItems = 0, maxItems = Infinity } = schema;
  if (rows.length < minItems) faults.push({ path, fault: 'tooFew', limit: minItems });
  if (rows.length > maxItems) faults.push({ path, fault: 'tooMany', limit: maxItems });
  const field = itemField(schema.items ?? {}, context);
  return rows.map((row, index) => readField(field, row, context, `${path}.${index}`, faults));
}

function readLeaf(field: Field, raw: Raw, context: FormContext): { value: unknown; fault?: Fault } {
  const { kind, schema } = field;
  if (kind === 'moment') return readMoment(raw as RawMoment, context.timeZone);
  const text = raw as string;
  if (kind === 'money') {
    const cents = centsOf(text, context.locale, context.currency);
    return cents === null ? { value: text, fault: 'noSum' } : { value: cents };
  }
  if (kind === 'number') {
    const number = Number(text.trim().replace(',', '.'));
    return Number.isFinite(number) ? { value: number } : { value: text, fault: 'noNumber' };
  }
  if (schema.type === 'integer') {
    const isWhole = /^\s*-?\d{1,15}\s*$/.test(text);
    return isWhole ? { value: Number(text) } : { value: text, fault: 'noInteger' };
  }
  if (kind === 'code') return { value: coded(text) };
  return { value: text };
}

function readMoment(raw: RawMoment, timeZone: string): { value: unknown; fault?: Fault } {
  if (raw.given) {
    const was = wallTime(raw.given, timeZone);
    if (was.date === raw.date && was.time === raw.time) return { value: raw.given };
  }
  if (!raw.date || !raw.time) return { value: undefined, fault: 'noMoment' };
  const moment = momentOf(raw, timeZone);
  return moment ? { value: moment } : { value: undefined, fault: 'noSuchTime' };
}

function coded(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[_\d]+|_+$/g, '');
}

/** Which limit of the schema a value passes. */
function outside(schema: Schema, value: unknown, isSum: boolean): Omit<FieldFault, 'path'> | null {
  if (typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    if (value < minimum) return { fault: 'tooSmall', limit: minimum, isSum };
    return value > maximum ? { fault: 'tooLarge', limit: maximum, isSum } : null;
  }
  if (typeof value !== 'string') return null;
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  const { length } = [...value];
  if (length < minLength) return { fault: 'tooShort', limit: minLength };
  if (length > maxLength) return { fault: 'tooLong', limit: maxLength };
  return pattern && !new RegExp(pattern, 'u').test(value) ? { fault: 'pattern' } : null;
}

/** Whether nothing was filled in. */
export function isBlank(raw: Raw | undefined): boolean {
  if (raw === undefined || raw === false) return true;
  if (typeof raw === 'string') return raw.trim() === '';
  if (Array.isArray(raw)) return raw.length === 0;
  return (
    typeof raw === 'object' &&
    Object.entries(raw as RawObject).every(([name, each]) => name === 'given' || isBlank(each))
  );
}

/** What the rows of items come to as far as they are filled in: the server's word counts. */
export function subtotalOf(rows: readonly Raw[], context: FormContext): number {
  let sum = 0;
  for (const row of rows as RawObject[]) {
    const cents = centsOf(
      (row['unit_cents'] as string | undefined) ?? '',
      context.locale,
      context.currency,
    );
    const qty = Number(row['qty'] ?? 1);
    if (cents !== null && Number.isSafeInteger(qty * cents)) sum += cents * qty;
  }
  return sum;
}

/** A copy in which what stands at `items.0.title` is another. */
export function withRaw(raw: Raw, path: readonly string[], value: Raw): Raw {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(raw)) {
    return raw.map((each, index) => (String(index) === name ? withRaw(each, rest, value) : each));
  }
  const object = raw as RawObject;
  return { ...object, [name]: withRaw(object[name] ?? '', rest, value) };
}

export function rawAt(raw: Raw, path: readonly string[]): Raw | undefined {
  return path.reduce<Raw | undefined>((at, name) => (at as RawObject | undefined)?.[name], raw);
}
