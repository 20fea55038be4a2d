/** A person's picture, or their initials on a colour that stays theirs. */

import { css, html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

const HUES = 12;

export function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/u).filter(Boolean);
  const picked = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return picked.map((word) => [...(word ?? '')][0]?.toLocaleUpperCase() ?? '').join('') || '?';
}

export function hueOf(id: string): number {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return (sum % HUES) * (360 / HUES);
}

@customElement('greenroom-avatar')
export class GreenroomAvatar extends LitElement {
  static override styles = css`
    :host {
      block-size: var(--avatar-size, 2.75rem);
      border-radius: 50%;
      display: inline-block;
      flex: none;
      inline-size: var(--avatar-size, 2.75rem);
      position: relative;
    }

    img,
    span.initials {
      block-size: 100%;
      border-radius: 50%;
      display: flex;
      inline-size: 100%;
      object-fit: cover;
    }

    span.initials {
      align-items: center;
      background: hsl(var(--hue, 150) 32% 34%);
      color: #fff;
      font-size: calc(var(--avatar-size, 2.75rem) * 0.38);
      font-weight: 600;
      justify-content: center;
      letter-spacing: 0.02em;
    }

    /* A picture, not words: what stands around names the person. */
    span.initials::before {
      content: attr(data-initials) / '';
    }

    .online {
      background: var(--_live, #2a8a5f);
      block-size: 26%;
      border: 2px solid var(--_surface, Canvas);
      border-radius: 50%;
      box-sizing: border-box;
      inline-size: 26%;
      inset-block-end: 0;
      inset-inline-end: 0;
      position: absolute;
    }
  `;

  @property() name = '';
  @property({ attribute: 'user-id' }) userId = '';
  /** Relative ones are the server's. */
  @property() src: string | null = null;
  @property({ type: Boolean }) online = false;
  @state() private failed = false;

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has('src')) this.failed = false;
  }

  protected override render(): TemplateResult {
    const isShown = this.src && !this.failed;
    return html`${
      isShown
        ? html`<img
            src=${this.src ?? ''}
            alt=""
            loading="lazy"
            decoding="async"
            referrerpolicy="no-referrer"
            @error=${() => (this.failed = true)}
          />`
        : html`<span class="initials" data-initials=${initialsOf(this.name)}></span>`
    }
    ${this.online ? html`<span class="online"></span>` : nothing}`;
  }

  protected override updated(): void {
    this.style.setProperty('--hue', String(hueOf(this.userId)));
  }
}
