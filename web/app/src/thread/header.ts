/** Who one talks with, and what can be done with the conversation as a whole. */

import type { InboxEdit, InboxRow, Thread } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import type { MenuItem } from '../look/menu.ts';
import { loadPeople } from '../people/loading.ts';
import { GreenroomElement } from '../session/element.ts';
import { firstNameOf, nameOf, othersIn, personIn } from '../session/people.ts';
import { headerStyles } from './header_styles.ts';

const NEVER = '9999-12-31T00:00:00.000Z';

/** Fires `edit-row` {edit}, `read-all`, `back` and `panel`. */
@customElement('greenroom-thread-header')
export class GreenroomThreadHeader extends GreenroomElement {
  static override styles = [GreenroomElement.styles, headerStyles];

  @property({ attribute: false }) thread: Thread | null = null;
  @property({ attribute: false }) row: InboxRow | null = null;
  /** User ids. */
  @property({ attribute: false }) typing: readonly string[] = [];
  @property({ attribute: false }) online: readonly string[] = [];
  /** `always`, `never`, or by the width. */
  @property({ reflect: true }) back: string | null = null;
  /** Whether the panel is shown; null where nobody knows. */
  @property({ attribute: false }) hasPanel: boolean | null = null;

  @state() private isProfileOpen = false;

  protected override render(): TemplateResult {
    const { thread: words } = this.words;
    return html`<header part="header">
      <button
        class="icon-button back"
        aria-label=${words.back}
        title=${words.back}
        @click=${() => this.#fire('back')}
      >
        ${icon('back')}
      </button>
      ${this.thread && this.session ? this.#known(this.thread) : this.#unknown()}
    </header>`;
  }

  /** There is nobody on the other side but the marketplace. */
  #notices(thread: Thread): TemplateResult {
    return html`<div class="who">
      <h2><bdi>${thread.subject ?? this.words.inbox.kinds.system}</bdi></h2>
    </div>`;
  }

  #known(thread: Thread): TemplateResult {
    const { words } = this;
    const others = othersIn(thread, this.userId);
    if (thread.kind === 'system') return this.#notices(thread);
    const people = others.length > 0 ? others : thread.participants;
    const [first] = people;
    const names = people.length > 2 ? people.map(firstNameOf) : people.map(nameOf);
    return html`${
        first
          ? html`<greenroom-avatar
              .name=${nameOf(first)}
              .userId=${first.user_id}
              .src=${this.session?.avatarOf(first) ?? null}
              ?online=${this.online.includes(first.user_id)}
            ></greenroom-avatar>`
          : nothing
      }
      <div class="who">
        <h2>
          <button
            class="names"
            aria-haspopup="dialog"
            title=${words.thread.profile}
            @click=${this.#openProfile}
          >
            <bdi>${this.format.list(names)}</bdi>
          </button>
        </h2>
        <p>${this.#line(thread)}</p>
      </div>
      <button
        class="icon-button details"
        aria-label=${words.thread.details}
        aria-expanded=${this.hasPanel ?? nothing}
        title=${words.thread.details}
        @click=${() => this.#fire('panel')}
      >
        ${icon('panel')}
      </button>
      <greenroom-menu .label=${words.thread.options} .items=${this.#items()}></greenroom-menu>
      ${
        this.isProfileOpen
          ? html`<greenroom-profile
              .people=${others}
              @close=${() => (this.isProfileOpen = false)}
            ></greenroom-profile>`
          : nothing
      }`;
  }

  #unknown(): TemplateResult {
    return html`<span class="ghost round"></span>
      <div class="who"><span class="ghost"></span><span class="ghost short"></span></div>`;
  }

  /** The most alive of what there is to say. */
  #line(thread: Thread): TemplateResult {
    const { thread: words } = this.words;
    const typing = this.typing.flatMap((id) => personIn(thread, id) ?? []).map(firstNameOf);
    if (typing.length > 0) {
      const [name = ''] = typing;
      const text =
        typing.length > 1 ? words.severalTyping(this.format.list(typing)) : words.typing(name);
      return html`<span class="alive">${text}</span>
        <span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>`;
    }
    const isOnline = this.online.length > 0;
    return html`${isOnline ? html`<span class="alive">${words.online}</span>` : nothing}
    ${isOnline && thread.subject ? html`<span aria-hidden="true">·</span>` : nothing}
    ${thread.subject ? html`<bdi>${thread.subject}</bdi>` : nothing}`;
  }

  #items(): MenuItem[] {
    const { thread: words } = this.words;
    const { row } = this;
    const isMuted = row?.muted_until ? Date.parse(row.muted_until) > this.nowMs : false;
    const item = (
      label: string,
      name: MenuItem['icon'] & string,
      isChecked: boolean,
      edit: InboxEdit,
    ): MenuItem => ({ label, icon: name, isChecked, run: () => this.#fire('edit-row', { edit }) });
    const isPinned = row?.pinned ?? false;
    const isStarred = row?.starred ?? false;
    const isArchived = row?.placement === 'archived';
    const readAll: MenuItem = {
      label: words.markRead,
      icon: 'check',
      run: () => this.#fire('read-all'),
    };
    return [
      { label: words.details, icon: 'panel', run: () => this.#fire('panel') },
      { label: words.profile, icon: 'person', run: this.#openProfile },
      ...(row?.unread_count ? [readAll] : []),
      item(words.mute, 'muted', isMuted, { muted_until: isMuted ? null : NEVER }),
      item(words.pin, 'pin', isPinned, { pinned: !isPinned }),
      item(words.star, 'star', isStarred, { starred: !isStarred }),
      item(words.archive, 'archive', isArchived, { archived: !isArchived }),
    ];
  }

  readonly #openProfile = (): void => {
    loadPeople()
      .then(() => (this.isProfileOpen = true))
      .catch((error: unknown) => announce(this.session?.explain(error) ?? ''));
  };

  #fire(name: string, detail: object = {}): void {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
