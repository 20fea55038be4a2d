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
  type FormDesk,
  hintOf,
  idOf,
  label,
} from './field_parts.ts';
import { type Field, fieldsOf, hasMoments, kindOf, type Schema } from './schema.ts';
import { type Raw, type RawMoment, type RawObject, subtotalOf } from './values.ts';
import { momentOf, zoneName } from './zones.ts';

export function drawObject(desk: FormDesk, schema: Schema, raw: RawObject, path = ''): Drawn[] {
  const fields = fieldsOf(schema, desk.context);
  const names = new Set(fields.map(({ name }) => name));
  return [
    names.has('lat') && names.has('lon') ? drawLocator(desk, path) : nothing,
    hasMoments(schema) && !path
      ? html`<p class="quiet small">${desk.words.yourTimes(zoneName(desk.context.timeZone))}</p>`
      : nothing,
    ...fields.map((field) => drawField(desk, field, raw[field.name] ?? '', path + field.name)),
  ];
}

export function drawField(desk: FormDesk, field: Field, raw: Raw, path: string): Drawn {
  const { kind, schema } = field;
  switch (kind) {
    case 'hidden':
      return nothing;
    case 'object':
      return drawGroup(desk, field, path, drawObject(desk, schema, raw as RawObject, `${path}.`));
    case 'list':
      return drawList(desk, field, (raw || []) as Raw[], path);
    case 'moment':
      return drawMoment(desk, field, raw as RawMoment, path);
    case 'boolean':
      return drawBoolean(desk, field, raw === true, path);
    case 'option':
      return drawChoice(desk, field, desk.context.options, String(raw), path);
    case 'leg':
      return drawChoice(desk, field, desk.context.legs, String(raw), path);
    case 'document':
      return drawDocuments(desk, field, String(raw), path);
    case 'choice':
      return drawChoice(desk, field, enumChoices(desk, schema), String(raw), path);
    case 'zone':
      return drawSelect(desk, field, zoneChoices(String(raw)), String(raw), path);
    case 'fixed':
      return drawFixed(desk, field, String(raw));
    case 'manifest':
      return drawManifest(desk, field, path);
    default:
      return drawText(desk, field, String(raw), path);
  }
}

function drawText(desk: FormDesk, field: Field, raw: string, path: string): TemplateResult {
  const { kind, schema } = field;
  const noon =
    kind === 'date' && raw && momentOf({ date: raw, time: '12:00' }, desk.context.timeZone);
  const hint = noon ? desk.format.date(noon) : hintOf(desk, field);
  const typed = (event: Event): void =>
    desk.set(path, (event.target as HTMLInputElement | HTMLTextAreaElement).value);
  const invalid = faultAt(desk, path) ? 'true' : 'false';
  const described = describedBy(desk, path, hint !== '');
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
      >${label(desk, field)}${kind === 'money' ? currencySign(desk) : nothing}</label
    >
    ${input}${drawHint(hint, path)}${drawFault(desk, path)}
  </div>`;
}

function modeOf(kind: string): string | typeof nothing {
  if (kind === 'money' || kind === 'number') return 'decimal';
  return kind === 'integer' || kind === 'minutes' ? 'numeric' : nothing;
}

function currencySign({ context }: FormDesk): Drawn {
  return context.currency ? html` <span class="quiet small">${context.currency}</span>` : nothing;
}

function drawMoment(desk: FormDesk, field: Field, raw: RawMoment, path: string): TemplateResult {
  const { words } = desk;
  const value = raw || { date: '', time: '' };
  const invalid = faultAt(desk, path) ? 'true' : 'false';
  const said = sayMoment(desk, value);
  const part = (name: 'date' | 'time', text: string): TemplateResult =>
    html`<input
      class="field"
      type=${name}
      id=${name === 'date' ? idOf(path) : `${idOf(path)}-time`}
      aria-label=${text}
      aria-required=${field.isRequired}
      aria-invalid=${invalid}
      aria-describedby=${describedBy(desk, path, said !== '')}
      .value=${live(value[name])}
      @change=${(event: Event) => desk.set(`${path}.${name}`, (event.target as HTMLInputElement).value)}
    />`;
  return html`<fieldset class="item">
    <legend>${label(desk, field)}</legend>
    <div class="pair">${part('date', words.day)}${part('time', words.clock)}</div>
    ${drawHint(said, path)} ${drawFault(desk, path)}
  </fieldset>`;
}

/** Browsers write the fields as they like, whatever the page's language: which day it is, and what
 * time it is where it happens, is said in words. */
function sayMoment({ words, context, format }: FormDesk, value: RawMoment): string {
  const moment = value.date && value.time ? momentOf(value, context.timeZone) : null;
  if (!moment) return '';
  const here = format.range(moment, moment);
  if (context.zone === context.timeZone) return here;
  const there = format.range(moment, moment, context.zone);
  return `${here} · ${words.thereIs(there, zoneName(context.zone))}`;
}

function drawBoolean(desk: FormDesk, field: Field, isOn: boolean, path: string): TemplateResult {
  const changed = (event: Event): void =>
    desk.set(path, (event.target as HTMLInputElement).checked);
  return html`<label class="item tick">
    <input type="checkbox" id=${idOf(path)} .checked=${live(isOn)} @change=${changed} />
    <span>${label(desk, field)}</span>
  </label>`;
}

function drawFixed(desk: FormDesk, field: Field, raw: string): TemplateResult {
  return html`<div class="item box">
    <p class="small quiet">
      ${field.name === 'sha256' ? desk.words.documentHint : label(desk, field)}
    </p>
    <p class="hash"><bdi>${raw}</bdi></p>
  </div>`;
}

function drawManifest(desk: FormDesk, field: Field, path: string): TemplateResult {
  return html`<fieldset class="item">
    <legend>${label(desk, field)}</legend>
    <greenroom-manifest-field
      id=${idOf(path)}
      .threadId=${desk.threadId}
      .path=${path}
      .legId=${desk.context.legId}
    ></greenroom-manifest-field>
    ${drawFault(desk, path)}
  </fieldset>`;
}

function drawGroup(desk: FormDesk, field: Field, path: string, inside: Drawn[]): TemplateResult {
  return html`<fieldset class="item group">
    <legend>${label(desk, field)}</legend>
    ${inside}${drawFault(desk, path)}
  </fieldset>`;
}

function drawList(desk: FormDesk, field: Field, rows: Raw[], path: string): TemplateResult {
  const { words, context, format } = desk;
  const { schema } = field;
  const items = schema.items ?? {};
  const { minItems = 0, maxItems = Infinity } = schema;
  const cents = items.properties?.['unit_cents'] ? subtotalOf(rows, context) : null;
  return html`<fieldset class="item group">
    <legend>${label(desk, field)}</legend>
    ${rows.map((row, index) =>
      drawRow(desk, items, row, `${path}.${index}`, index, () =>
        rows.length > minItems
          ? html`<button
              type="button"
              class="icon-button"
              aria-label=${words.removeNumber(index + 1)}
              @click=${() => desk.removeRow(path, index)}
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
            @click=${() => desk.addRow(path, items)}
          >
            ${icon('plus')}${words.add}
          </button>`
        : nothing
    }
    ${
      cents === null
        ? nothing
        : html`<p class="total">
            <span>${words.estimate}</span>
            <span class="sum"
              >${
                context.currency
                  ? format.money({ amount_cents: cents, currency: context.currency })
                  : format.number(cents / 100)
              }</span
            >
          </p>`
    }
    ${drawFault(desk, path)}
  </fieldset>`;
}

function drawRow(
  desk: FormDesk,
  items: Schema,
  row: Raw,
  path: string,
  index: number,
  remove: () => Drawn,
): TemplateResult {
  const isObject = items.type === 'object';
  const field: Field = {
    name: '',
    kind: kindOf('', items, desk.context),
    schema: items,
    isRequired: true,
  };
  return html`<fieldset class="row" id=${isObject ? `${idOf(path)}-row` : nothing}>
    <legend class="visually-hidden">${desk.words.rowNumber(index + 1)}</legend>
    <div class="cells">
      ${
        isObject
          ? drawObject(desk, items, row as RawObject, `${path}.`)
          : drawField(desk, field, row, path)
      }
    </div>
    ${remove()}
  </fieldset>`;
}

function drawLocator(desk: FormDesk, path: string): TemplateResult {
  return html`<button
    type="button"
    class="button locate"
    ?disabled=${desk.isLocating}
    @click=${() => desk.locate(path)}
  >
    ${icon('place')}${desk.isLocating ? desk.words.locating : desk.words.useMyPosition}
  </button>`;
}
