/** The fields of a card's form, one template for each kind. */

import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';

import { icon } from '../look/icons.ts';
import { drawChoice, drawDocuments, drawSelect, enumChoices, zoneChoices } from './choices.ts';
import {
  describedBy,
  drawFault,
  drawHint,
  type Drawn,
  faultAt,
  type FormHost,
  hintOf,
  idOf,
  label,
} from './field_parts.ts';
import { type Field, fieldsOf, hasMoments, hasRange, kindOf, type Schema } from './schema.ts';
import { type Raw, type RawMoment, type RawObject, subtotalOf } from './values.ts';
import { momentOf } from '../i18n/wall_time.ts';
import { zoneName } from '../i18n/zones.ts';

export function drawObject(host: FormHost, schema: Schema, raw: RawObject, path = ''): Drawn[] {
  const fields = fieldsOf(schema, host.context);
  const names = new Set(fields.map(({ name }) => name));
  return [
    names.has('lat') && names.has('lon') ? drawLocator(host, path) : nothing,
    hasMoments(schema) && !path
      ? html`<p class="quiet small">${host.words.yourTimes(zoneName(host.context.timeZone))}</p>`
      : nothing,
    hasRange(schema) && !path ? drawBooked(host, raw) : nothing,
    ...fields.map((field) => drawField(host, field, raw[field.name] ?? '', path + field.name)),
  ];
}

/** Whoever proposes another time sees the one that is booked. */
function drawBooked({ context, words }: FormHost, { leg_id: chosen }: RawObject): Drawn {
  const { booked, legId } = context;
  const when = booked[typeof chosen === 'string' && chosen ? chosen : (legId ?? '')];
  return when ? html`<p>${words.bookedNow(when)}</p>` : nothing;
}

export function drawField(host: FormHost, field: Field, raw: Raw, path: string): Drawn {
  const { kind, schema } = field;
  switch (kind) {
    case 'hidden':
      return nothing;
    case 'object':
      return drawGroup(host, field, path, drawObject(host, schema, raw as RawObject, `${path}.`));
    case 'list':
      return drawList(host, field, (raw || []) as Raw[], path);
    case 'moment':
      return drawMoment(host, field, raw as RawMoment, path);
    case 'boolean':
      return drawBoolean(host, field, raw === true, path);
    case 'option':
      return drawChoice(host, field, host.context.options, raw as string, path);
    case 'leg':
      return drawChoice(host, field, host.context.legs, raw as string, path);
    case 'document':
      return drawDocuments(host, field, raw as string, path);
    case 'choice':
      return drawChoice(host, field, enumChoices(schema), raw as string, path);
    case 'zone':
      return drawSelect(host, field, zoneChoices(raw as string), raw as string, path);
    case 'fixed':
      return drawFixed(host, field, raw as string);
    case 'manifest':
      return drawManifest(host, field, path);
    case 'file':
    case 'files':
      return drawFiles(host, field, (raw || []) as Raw[], path);
    case 'notes':
      return drawNotes(host, field, (raw || []) as RawObject[], path);
    default:
      return drawText(host, field, raw as string, path);
  }
}

function drawText(host: FormHost, field: Field, raw: string, path: string): TemplateResult {
  const { kind, schema } = field;
  const noon =
    kind === 'date' && raw && momentOf({ date: raw, time: '12:00' }, host.context.timeZone);
  const hint = noon ? host.format.date(noon) : hintOf(host, field);
  const typed = (event: Event): void =>
    host.set(path, (event.target as HTMLInputElement | HTMLTextAreaElement).value);
  const invalid = faultAt(host, path) ? 'true' : 'false';
  const described = describedBy(host, path, hint !== '');
  const input =
    kind === 'long'
      ? html`<textarea
          class="field"
          id=${idOf(path)}
          rows="3"
          dir="auto"
          maxlength=${schema.maxLength ?? nothing}
          aria-required=${field.isRequired}
          aria-invalid=${invalid}
          aria-describedby=${described}
          .value=${live(raw)}
          @input=${typed}
        ></textarea>`
      : html`<input
          class="field"
          id=${idOf(path)}
          type=${kind === 'date' ? 'date' : 'text'}
          inputmode=${modeOf(kind)}
          dir=${kind === 'text' ? 'auto' : nothing}
          maxlength=${kind === 'text' ? (schema.maxLength ?? nothing) : nothing}
          autocomplete="off"
          aria-required=${field.isRequired}
          aria-invalid=${invalid}
          aria-describedby=${described}
          .value=${live(raw)}
          @input=${typed}
        />`;
  return html`<div class="item ${kind}">
    <label for=${idOf(path)}
      >${label(host, field)}${kind === 'money' ? currencySign(host) : nothing}</label
    >
    ${input}${drawHint(hint, path)}${drawFault(host, path)}
  </div>`;
}

function modeOf(kind: string): string | typeof nothing {
  if (kind === 'money' || kind === 'number') return 'decimal';
  return kind === 'integer' || kind === 'minutes' ? 'numeric' : nothing;
}

function currencySign({ context }: FormHost): Drawn {
  return context.currency ? html` <span class="quiet small">${context.currency}</span>` : nothing;
}

function drawMoment(host: FormHost, field: Field, raw: RawMoment, path: string): TemplateResult {
  const { words } = host;
  const value = raw || { date: '', time: '' };
  const invalid = faultAt(host, path) ? 'true' : 'false';
  const said = sayMoment(host, value);
  const part = (name: 'date' | 'time', text: string): TemplateResult =>
    html`<input
      class="field"
      type=${name}
      id=${name === 'date' ? idOf(path) : `${idOf(path)}-time`}
      aria-label=${text}
      aria-required=${field.isRequired}
      aria-invalid=${invalid}
      aria-describedby=${describedBy(host, path, said !== '')}
      .value=${live(value[name])}
      @change=${(event: Event) => host.set(`${path}.${name}`, (event.target as HTMLInputElement).value)}
    />`;
  return html`<fieldset class="item">
    <legend>${label(host, field)}</legend>
    <div class="pair">${part('date', words.day)}${part('time', words.clock)}</div>
    ${drawHint(said, path)} ${drawFault(host, path)}
  </fieldset>`;
}

/** Browsers write the fields as they like, whatever the page's language: which day it is, and what
 * time it is where it happens, is said in words. */
function sayMoment({ words, context, format }: FormHost, value: RawMoment): string {
  const moment = value.date && value.time ? momentOf(value, context.timeZone) : null;
  if (!moment) return '';
  const here = format.range(moment, moment);
  if (context.zone === context.timeZone) return here;
  const there = format.range(moment, moment, context.zone);
  return `${here} · ${words.thereIs(there, zoneName(context.zone))}`;
}

function drawBoolean(host: FormHost, field: Field, isOn: boolean, path: string): TemplateResult {
  const changed = (event: Event): void =>
    host.set(path, (event.target as HTMLInputElement).checked);
  return html`<label class="item tick">
    <input type="checkbox" id=${idOf(path)} .checked=${live(isOn)} @change=${changed} />
    <span>${label(host, field)}</span>
  </label>`;
}

function drawFixed(host: FormHost, field: Field, raw: string): TemplateResult {
  return html`<div class="item box">
    <p class="small quiet">
      ${field.name === 'sha256' ? host.words.documentHint : label(host, field)}
    </p>
    <p class="hash"><bdi>${raw}</bdi></p>
  </div>`;
}

function drawManifest(host: FormHost, field: Field, path: string): TemplateResult {
  return html`<fieldset class="item">
    <legend>${label(host, field)}</legend>
    <greenroom-manifest-field
      id=${idOf(path)}
      .formWords=${host.words}
      .threadId=${host.threadId}
      .path=${path}
      .legId=${host.context.legId}
    ></greenroom-manifest-field>
    ${drawFault(host, path)}
  </fieldset>`;
}

function drawFiles(host: FormHost, field: Field, raw: Raw[], path: string): TemplateResult {
  const { schema, kind, isRequired } = field;
  const kept = kind === 'files' ? host.context.pictures.filter(({ id }) => raw.includes(id)) : [];
  return html`<fieldset class="item">
    <legend>${label(host, field)}</legend>
    <greenroom-file-field
      id=${idOf(path)}
      .threadId=${host.threadId}
      .path=${path}
      .purpose=${schema['x-file'] ?? schema.items?.['x-file'] ?? 'proof'}
      .most=${kind === 'files' ? (schema.maxItems ?? 10) : 1}
      .isRequired=${isRequired}
      .kept=${kept}
      .watermark=${host.watermark}
    ></greenroom-file-field>
    ${drawFault(host, path)}
  </fieldset>`;
}

function drawNotes(host: FormHost, field: Field, raw: RawObject[], path: string): TemplateResult {
  const { items } = field.schema;
  const noted = (event: CustomEvent<{ notes: RawObject[] }>): void =>
    host.set(path, event.detail.notes);
  return html`<fieldset class="item">
    <legend>${label(host, field)}</legend>
    <greenroom-picture-notes
      id=${idOf(path)}
      .files=${host.context.pictures}
      .notes=${raw}
      .longest=${items?.properties?.['note']?.maxLength ?? 500}
      @noted=${noted}
    ></greenroom-picture-notes>
    ${drawFault(host, path)}
  </fieldset>`;
}

function drawGroup(host: FormHost, field: Field, path: string, inside: Drawn[]): TemplateResult {
  return html`<fieldset class="item group">
    <legend>${label(host, field)}</legend>
    ${inside}${drawFault(host, path)}
  </fieldset>`;
}

function drawList(host: FormHost, field: Field, rows: Raw[], path: string): TemplateResult {
  const { words, context, format } = host;
  const { schema } = field;
  const items = schema.items ?? {};
  const { minItems = 0, maxItems = Infinity } = schema;
  const cents = items.properties?.['unit_cents'] ? subtotalOf(rows, context) : null;
  return html`<fieldset class="item group">
    <legend>${label(host, field)}</legend>
    ${rows.map((row, index) =>
      drawRow(host, items, row, `${path}.${index}`, index, () =>
        rows.length > minItems
          ? html`<button
              type="button"
              class="icon-button"
              aria-label=${words.removeNumber(index + 1)}
              @click=${() => host.removeRow(path, index)}
            >
              ${icon('bin')}
            </button>`
          : nothing,
      ),
    )}
    ${
      rows.length < maxItems
        ? html`<button
            type="button"
            class="button plain"
            id="${idOf(path)}-add"
            @click=${() => host.addRow(path, items)}
          >
            ${icon('plus')}${words.add}
          </button>`
        : nothing
    }
    ${
      cents === null
        ? nothing
        : html`<p class="total">
            <span>${words.total}</span>
            <span class="sum"
              >${
                context.currency
                  ? format.money({ amount_cents: cents, currency: context.currency })
                  : format.number(cents / 100)
              }</span
            >
          </p>`
    }
    ${drawFault(host, path)}
  </fieldset>`;
}

function drawRow(
  host: FormHost,
  items: Schema,
  row: Raw,
  path: string,
  index: number,
  remove: () => Drawn,
): TemplateResult {
  const isObject = items.type === 'object';
  const field: Field = {
    name: '',
    kind: kindOf('', items, host.context),
    schema: items,
    isRequired: true,
  };
  return html`<fieldset class="row" id=${isObject ? `${idOf(path)}-row` : nothing}>
    <legend class="visually-hidden">${host.words.rowNumber(index + 1)}</legend>
    <div class="cells">
      ${
        isObject
          ? drawObject(host, items, row as RawObject, `${path}.`)
          : drawField(host, field, row, path)
      }
    </div>
    ${remove()}
  </fieldset>`;
}

function drawLocator(host: FormHost, path: string): TemplateResult {
  return html`<button
    type="button"
    class="button locate"
    ?disabled=${host.isLocating}
    @click=${() => host.locate(path)}
  >
    ${icon('place')}${host.isLocating ? host.words.locating : host.words.useMyPosition}
  </button>`;
}
