/** Files: proofs to choose from, finished work that was delivered, and what was sent with messages. */

import type { FilesData, Finals, ManifestItem, Proofs } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';

import { sizeText } from '../files/media.ts';
import { icon } from '../look/icons.ts';
import { loadGallery, loadProofs } from '../session/later.ts';
import { shortHash } from './facts.ts';
import { chip, type Drawn, empty, showButton, type Tone, type View } from './view.ts';

const TONES: Record<string, Tone> = { pending: 'notice', approved: 'good' };

export function filesTab(view: View, data: FilesData, threadId: string): TemplateResult {
  const { words } = view;
  const { proofs, finals, attachments } = data;
  if (proofs.length + finals.length + attachments.items.length === 0) {
    return empty('files', words.noFiles, words.noFilesHint);
  }
  return html`${section(
    words.proofs,
    proofs.map((each) => proofsRow(view, each)),
  )}
  ${section(
    words.finals,
    finals.map((each) => finalsRow(view, each)),
  )}
  ${attachments.items.length > 0 ? sentFiles(view, attachments, threadId) : nothing}`;
}

function section(title: string, rows: readonly TemplateResult[]): Drawn {
  if (rows.length === 0) return nothing;
  return html`<section>
    <h3>${title}</h3>
    <ul class="legs">
      ${rows.map((row) => html`<li class="box">${row}</li>`)}
    </ul>
  </section>`;
}

function proofsRow(view: View, proofs: Proofs): TemplateResult {
  const { words, format } = view;
  loadProofs().catch(() => {});
  const state = words.proofStates[proofs.state] ?? proofs.state;
  const title = format.date(proofs.created_at);
  return html`<div class="head">
      <h4>${title}</h4>
      ${chip(state, TONES[proofs.state] ?? 'plain')}
    </div>
    <greenroom-proofs .files=${proofs.files} .chosen=${proofs.selections}></greenroom-proofs>
    ${showButton(view, title, () => view.showCard(proofs.card_id))}`;
}

function finalsRow(view: View, { manifest, cards }: Finals): TemplateResult {
  const { words, format } = view;
  const title = format.date(manifest.created_at);
  const [card] = cards;
  return html`<div class="head">
      <h4>${title}</h4>
      <span class="small quiet">${words.fileCount(manifest.items.length)}</span>
    </div>
    <ul class="lines">
      ${manifest.items.map((item) => html`<li>${finalItem(view, item)}</li>`)}
    </ul>
    ${card ? showButton(view, title, () => view.showCard(card.card_id)) : nothing}`;
}

function finalItem(view: View, { name, url, bytes, sha256 }: ManifestItem): TemplateResult {
  const { words, format } = view;
  const isCopied = view.copied === sha256;
  const label = isCopied ? words.copied : words.copyFingerprint;
  return html`${
      url.startsWith('https://')
        ? html`<a class="link" href=${url} target="_blank" rel="noopener noreferrer"
            ><bdi>${name}</bdi></a
          >`
        : html`<bdi>${name}</bdi>`
    }
    <div class="fingerprint small quiet">
      <span>${sizeText(bytes, format.locale)}</span>
      <code dir="ltr" title="SHA-256: ${sha256}">${shortHash(sha256)}</code>
      <button
        class="icon-button"
        aria-label=${`${label}: ${name}`}
        title=${label}
        @click=${() => view.copy(sha256)}
      >
        ${icon(isCopied ? 'check' : 'copy')}
      </button>
    </div>`;
}

function sentFiles(
  { words }: View,
  attachments: FilesData['attachments'],
  threadId: string,
): TemplateResult {
  loadGallery().catch(() => {});
  return html`<section>
    <h3>${words.sentFiles}</h3>
    <greenroom-gallery .threadId=${threadId} .first=${attachments}></greenroom-gallery>
  </section>`;
}
