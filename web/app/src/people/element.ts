/** What the dialogs about people have in common: their words, and how a person is drawn. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { state } from 'lit/decorators.js';

import { loadPeopleWords, type PeopleWords } from '../i18n/people.ts';
import '../look/avatar.ts';
import '../look/dialog.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';

export const peopleStyles = css`
  ul {
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 5);
    list-style: none;
    margin: 0;
    padding: 0;
  }

  p {
    margin: 0;
  }

  .person {
    --avatar-size: 3.25rem;

    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 4);
    min-inline-size: 0;
  }

  .who {
    flex: 1;
    min-inline-size: 0;
    overflow-wrap: anywhere;
  }

  .name {
    font-weight: 600;
  }

  .facts {
    align-items: center;
    display: flex;
    flex-wrap: wrap;
    gap: 0 calc(var(--_space) * 2);
  }

  .mark {
    align-items: center;
    color: var(--_accent-text);
    display: inline-flex;
    gap: var(--_space);
  }

  .question {
    padding-block-start: calc(var(--_space) * 3);
  }

  p.deeds > .plain {
    margin-inline-start: calc(var(--_space) * -3);
  }

  .deeds {
    display: flex;
    flex-wrap: wrap;
    gap: calc(var(--_space) * 2);
    padding-block-start: calc(var(--_space) * 3);
  }
`;

export interface Shown {
  user_id: string;
  display_name: string;
  avatar_url: string | null;
}

/** Fires `close`. */
export abstract class PeopleElement extends GreenroomElement {
  static override styles = [...([GreenroomElement.styles].flat() as []), peopleStyles];

  @state() protected peopleWords: PeopleWords | null = null;
  @state() protected problem = '';
  @state() protected isBusy = false;

  protected override joined(session: Session): Stop[] {
    const load = async (): Promise<void> => {
      this.peopleWords = await loadPeopleWords(session.locale);
    };
    void load();
    return [session.onChange(() => void load())];
  }

  protected dialog(heading: string, content: unknown): TemplateResult {
    return html`<greenroom-dialog
      open
      .heading=${heading}
      close-label=${this.words.look.close}
      @close=${this.leave}
    >
      ${content}
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
    </greenroom-dialog>`;
  }

  protected readonly leave = (): void => {
    this.dispatchEvent(new Event('close'));
  };

  /** `facts` stands below the name. */
  protected person(shown: Shown, facts: unknown): TemplateResult {
    const name = shown.display_name || shown.user_id;
    return html`<greenroom-avatar
        .name=${name}
        .userId=${shown.user_id}
        .src=${this.session?.avatarOf(shown) ?? null}
      ></greenroom-avatar>
      <div class="who">
        <p class="name"><bdi>${name}</bdi></p>
        <div class="facts small quiet">${facts}</div>
      </div>`;
  }

  /** One at a time; what goes wrong is said. */
  protected async attempt(deed: () => Promise<void>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.problem = '';
    try {
      await deed();
    } catch (error) {
      this.problem = this.session?.explain(error) ?? '';
    } finally {
      this.isBusy = false;
    }
  }
}
