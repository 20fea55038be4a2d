/** The buttons beside a message that is pointed at. Keys have the menu, so tab passes by. */

import { html, nothing, type TemplateResult } from 'lit';

import type { Words } from '../i18n/index.ts';
import { icon } from '../look/icons.ts';
import type { MessageAction } from './message_actions.ts';

export interface ToolLinks {
  reply: () => void;
  more: (event: Event) => void;
}

export function messageTools(
  actions: readonly MessageAction[],
  { thread }: Words,
  links: ToolLinks,
): TemplateResult | null {
  if (actions.length === 0) return null;
  const button = (label: string, name: 'reply' | 'more', run: (event: Event) => void) =>
    html`<button class="icon-button" tabindex="-1" aria-label=${label} title=${label} @click=${run}>
      ${icon(name)}
    </button>`;
  return html`<div class="tools">
    ${button(thread.actions, 'more', links.more)}
    ${actions.includes('reply') ? button(thread.reply, 'reply', links.reply) : nothing}
  </div>`;
}
