/** Documents: what is to be signed, by whom, and the fingerprint of what they sign. */

import type { Docs, DocumentRow, Leg, Signer } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';

import { icon } from '../look/icons.ts';
import { documentsByLeg, mustSign, shortHash } from './facts.ts';
import {
  avatar,
  chip,
  type Drawn,
  empty,
  personName,
  showButton,
  type Tone,
  type View,
} from './view.ts';

const TONES: Record<DocumentRow['state'], Tone> = {
  pending: 'notice',
  partly_signed: 'notice',
  signed: 'good',
  declined: 'bad',
  expired: 'plain',
};

export function docsTab(view: View, tab: Docs, legs: readonly Leg[]): TemplateResult {
  const { words } = view;
  if (tab.documents.length === 0) return empty('document', words.noDocs, words.noDocsHint);
  const groups = documentsByLeg(
    tab.documents,
    legs.map(({ id }) => id),
  );
  const titles = new Map(legs.map(({ id, title }) => [id, title]));
  return html`${groups.map(
    ({ legId, documents }) =>
      html`<section>
        <h3>${legId === null ? words.wholeBooking : (titles.get(legId) ?? words.wholeBooking)}</h3>
        <ul class="legs">
          ${documents.map((each) => html`<li class="box">${documentRow(view, each)}</li>`)}
        </ul>
      </section>`,
  )}`;
}

function documentRow(view: View, row: DocumentRow): TemplateResult {
  const { words } = view;
  return html`<div class="head">
      <h4>${row.title}</h4>
      ${chip(words.docState[row.state], TONES[row.state])}
    </div>
    ${hint(view, row)}
    <ul class="signers" aria-label=${words.signers}>
      ${row.signers.map((signer) => html`<li>${signerRow(view, signer)}</li>`)}
    </ul>
    ${fingerprint(view, row)} ${link(view, row.url)}`;
}

function hint(view: View, row: DocumentRow): Drawn {
  const { words } = view;
  const cardId = row.card_id;
  if (cardId && mustSign(row, view.userId)) {
    return html`<div class="hint">
      <p>${words.signHere}</p>
      ${showButton(view, row.title, () => view.showCard(cardId))}
    </div>`;
  }
  if (cardId) return showButton(view, row.title, () => view.showCard(cardId));
  return row.can_ask ? html`<p class="small quiet">${words.nobodyAsked}</p>` : nothing;
}

function signerRow(view: View, { user_id, state, at }: Signer): TemplateResult {
  const { words, format } = view;
  const isSigned = state === 'signed' && at !== null;
  const said = isSigned ? words.signedOn(format.date(at)) : words.signerState[state];
  return html`${avatar(view, user_id)}<span class="who"
      ><span>${personName(view, user_id)}</span><span class="small quiet">${said}</span></span
    >${state === 'signed' ? html`<span class="done">${icon('check')}</span>` : nothing}`;
}

function fingerprint(view: View, { sha256 }: DocumentRow): TemplateResult {
  const { words } = view;
  const isCopied = view.copied === sha256;
  return html`<div class="fingerprint small quiet">
    <span>${words.fingerprint}</span>
    <code dir="ltr" title="SHA-256: ${sha256}">${shortHash(sha256)}</code>
    <button
      class="icon-button"
      aria-label=${isCopied ? words.copied : words.copyFingerprint}
      title=${isCopied ? words.copied : words.copyFingerprint}
      @click=${() => view.copy(sha256)}
    >
      ${icon(isCopied ? 'check' : 'copy')}
    </button>
  </div>`;
}

/** Only https: anything else could be a script. */
function link(view: View, url: string | null): Drawn {
  if (!url?.startsWith('https://')) return nothing;
  return html`<a class="link" href=${url} target="_blank" rel="noopener noreferrer"
    >${view.words.open}${icon('forward')}</a
  >`;
}
