/** In place of the composer, where the only other person is blocked: that they are, and the way back. */

import type { Participant, Thread } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import type { Stop } from '../session/element.ts';
import { nameOf, othersIn } from '../session/people.ts';
import type { Session } from '../session/session.ts';
import { blockedAmong, onBlocks, tellBlocks } from './blocks.ts';
import { PeopleElement } from './element.ts';

const BLOCKED = 'MSG_BLOCKED_BY_USER';

/** Fires `blocked` with whether they are, and `unblocked` when its button was pressed. */
@customElement('greenroom-blocked-note')
export class GreenroomBlockedNote extends PeopleElement {
  static override styles = [
    ...([PeopleElement.styles].flat() as []),
    css`
      .note {
        align-items: center;
        border-block-start: 1px solid var(--_line);
        display: flex;
        flex-wrap: wrap;
        gap: calc(var(--_space) * 2) calc(var(--_space) * 4);
        justify-content: center;
        padding: calc(var(--_space) * 3) calc(var(--_space) * 4);
        padding-block-end: max(calc(var(--_space) * 3), env(safe-area-inset-bottom));
      }
    `,
  ];

  @property({ attribute: false }) thread: Thread | null = null;
  @state() private isBlocked = false;
  #asked = '';

  protected override joined(session: Session): Stop[] {
    return [
      ...super.joined(session),
      onBlocks((userId, isBlocked) => {
        if (userId === this.#other?.user_id) this.#know(isBlocked);
      }),
      session.client.on('send', ({ threadId, problem }) => {
        if (threadId === this.thread?.id && problem?.code === BLOCKED) this.#know(true);
      }),
    ];
  }

  protected override updated(_changed: PropertyValues): void {
    const asked = `${this.thread?.id} ${this.#other?.user_id}`;
    if (!this.session || asked === this.#asked) return;
    this.#asked = asked;
    void this.#look(this.session, this.#other);
  }

  protected override render(): TemplateResult | typeof nothing {
    const words = this.peopleWords;
    const other = this.#other;
    if (!words || !other || !this.isBlocked) return nothing;
    const name = nameOf(other);
    return html`<div class="note">
      <p>${words.youBlocked(name)}</p>
      <button
        class="button"
        aria-label=${words.unblock(name)}
        ?disabled=${this.isBusy}
        @click=${() => this.#unblock(words.unblocked(name), other)}
      >
        ${words.unblockShort}
      </button>
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
    </div>`;
  }

  /** Where there are several others, a block hides one of them and closes nothing. */
  get #other(): Participant | null {
    const others = this.thread ? othersIn(this.thread, this.userId) : [];
    const active = others.filter(({ status }) => status === 'active');
    return active.length === 1 ? (active[0] ?? null) : null;
  }

  async #look(session: Session, other: Participant | null): Promise<void> {
    this.#know(false);
    if (!other) return;
    const threadId = this.thread?.id;
    const found = await blockedAmong(session, [other.user_id]).catch(() => null);
    if (found && threadId === this.thread?.id) this.#know(found.has(other.user_id));
  }

  #know(isBlocked: boolean): void {
    if (isBlocked === this.isBlocked) return;
    this.isBlocked = isBlocked;
    this.dispatchEvent(new CustomEvent('blocked', { detail: isBlocked }));
  }

  /** What was refused because of the block is sent now. */
  async #unblock(said: string, { user_id }: Participant): Promise<void> {
    await this.attempt(async () => {
      const { client } = this.session ?? {};
      await client?.rest.unblock(user_id);
      tellBlocks(user_id, false);
      announce(said);
      this.dispatchEvent(new Event('unblocked'));
      for (const { clientId, problem } of client?.sends(this.thread?.id) ?? []) {
        if (problem?.code === BLOCKED) client?.retry(clientId);
      }
    });
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-blocked-note': GreenroomBlockedNote;
  }
}
