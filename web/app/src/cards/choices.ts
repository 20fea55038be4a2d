/** Fields in which one of several things is chosen. */

import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';

import { describedBy, drawFault, faultAt, type FormHost, idOf, label } from './field_parts.ts';
import { humanised } from './naming.ts';
import type { Choice, Field, Schema } from './schema.ts';

/** More of them fold up. */
const RADIOS = 4;

export function enumChoices(schema: Schema): Choice[] {
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  return values.map((value) => ({
    value: String(value),
    label: typeof value === 'number' ? String(value) : humanised(value),
  }));
}

let zones: string[] | null = null;

export function zoneChoices(current: string): Choice[] {
  zones ??= Intl.supportedValuesOf('timeZone');
  const all = zones.includes(current) || !current ? zones : [current, ...zones];
  return all.map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') }));
}

export function drawChoice(
  host: FormHost,
  field: Field,
  choices: readonly Choice[],
  raw: string,
  path: string,
): TemplateResult {
  if (choices.length > RADIOS + 1) return drawSelect(host, field, choices, raw, path);
  return html`<fieldset
    class="item"
    role="radiogroup"
    aria-required=${field.isRequired}
    aria-invalid=${faultAt(host, path) ? 'true' : 'false'}
    aria-describedby=${describedBy(host, path, false)}
  >
    <legend>${label(host, field)}</legend>
    ${choices.map(
      ({ value, label: text }, index) =>
        html`<label class="tick">
          <input
            type="radio"
            name=${path}
            id=${index === 0 ? idOf(path) : nothing}
            value=${value}
            .checked=${live(raw === value)}
            @change=${() => host.set(path, value)}
          />
          <span dir="auto">${text}</span>
        </label>`,
    )}
    ${drawFault(host, path)}
  </fieldset>`;
}

export function drawDocuments(
  host: FormHost,
  field: Field,
  raw: string,
  path: string,
): TemplateResult {
  const { documents } = host.context;
  if (documents && documents.length > 0) return drawChoice(host, field, documents, raw, path);
  return html`<div class="item">
    <p class="box" id=${idOf(path)} tabindex="-1">${host.words.nothingToSign}</p>
  </div>`;
}

export function drawSelect(
  host: FormHost,
  field: Field,
  choices: readonly Choice[],
  raw: string,
  path: string,
): TemplateResult {
  const changed = (event: Event): void => host.set(path, (event.target as HTMLSelectElement).value);
  return html`<div class="item">
    <label for=${idOf(path)}>${label(host, field)}</label>
    <select
      class="field"
      id=${idOf(path)}
      aria-required=${field.isRequired}
      aria-invalid=${faultAt(host, path) ? 'true' : 'false'}
      aria-describedby=${describedBy(host, path, false)}
      @change=${changed}
    >
      ${raw ? nothing : html`<option value="" selected>${host.words.choose}</option>`}
      ${choices.map(
        ({ value, label: text }) =>
          html`<option value=${value} ?selected=${value === raw}>${text}</option>`,
      )}
    </select>
    ${drawFault(host, path)}
  </div>`;
}
