/** The button beside the composer that makes a card: which one, then what it takes. */

import { type CardType, Problem, type Thread } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import type { GreenroomMenu } from '../look/menu.ts';
import { personIn } from '../session/people.ts';
import { Attempt } from './attempt.ts';
import { creatableTypes } from './catalogue.ts';
import { loadForm } from './desk.ts';
import { CardElement } from './element.ts';
import type { FormContext, Schema } from './schema.ts';
import { iconOf } from './signs.ts';

interface Making {
  type: CardType;
  schema: Schema;
  context: FormContext;
}

/** Shows nothing where there is nothing to make. */
@customElement('greenroom-new-card')
export class GreenroomNewCard extends CardElement {
  static override shadowRootOptions = { ...CardElement.shadowRootOptions, delegatesFocus: true };
  static override styles = [
    ...([CardElement.styles].flat() as []),
    css`
      :host {
        display: inline-flex;
      }
    `,
  ];

  @property({ attribute: false }) thread: Thread | null = null;
  @state() private making: Making | null = null;
  @state() private isBusy = false;
  @state() private problem = '';
  readonly #attempt = new Attempt();

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    const before = changed.get('thread') as Thread | null | undefined;
    if (before && before.id !== this.thread?.id) this.making = null;
  }

  protected override render(): TemplateResult | typeof nothing {
    const words = this.words.cards;
    const types = this.#types();
    if (types.length === 0) return nothing;
    return html`<greenroom-menu
        .label=${words.newCard}
        .icon=${'plus'}
        .items=${types.map((type) => ({
          label: type.title,
          icon: iconOf(type.type),
          run: () => void this.#begin(type),
        }))}
      ></greenroom-menu>
      ${this.making ? this.#dialog(this.making) : nothing}`;
  }

  #types(): CardType[] {
    const { thread } = this;
    const me = personIn(thread, this.userId);
    if (!thread || thread.locked || me?.status !== 'active') return [];
    const hasBooking = Boolean(thread.group_id ?? thread.leg_id);
    return creatableTypes(this.types, { kind: thread.kind, role: me.role, hasBooking });
  }

  #dialog({ type, schema, context }: Making): TemplateResult {
    const words = this.words.cards;
    return html`<greenroom-dialog
      open
      .heading=${type.title}
      close-label=${this.words.look.close}
      @close=${this.#leave}
    >
      <greenroom-card-form
        .schema=${schema}
        .context=${context}
        .threadId=${this.thread?.id ?? ''}
        .submitLabel=${words.create}
        .isBusy=${this.isBusy}
        .problem=${this.problem}
        @filled=${(event: CustomEvent<{ value: object }>) =>
          void this.#make(type, event.detail.value)}
        @left=${this.#leave}
      ></greenroom-card-form>
    </greenroom-dialog>`;
  }

  async #begin(type: CardType): Promise<void> {
    const { session, thread } = this;
    if (!session || !thread) return;
    const schema = type.payload as Schema;
    this.problem = '';
    try {
      const { formContext } = await loadForm();
      const context = await formContext(session, thread.id, schema, null, type.needs_leg);
      this.making = { type, schema, context };
    } catch (error) {
      announce(session.explain(error));
    }
  }

  async #make(type: CardType, payload: object): Promise<void> {
    const { session, thread } = this;
    if (!session || !thread || this.isBusy) return;
    this.isBusy = true;
    this.problem = '';
    try {
      const key = this.#attempt.keyFor([thread.id, type.type, payload]);
      await session.client.rest.createCard(thread.id, type.type, payload, key);
      this.#attempt.answered();
      announce(type.title);
      this.#leave();
    } catch (error) {
      const problem = Problem.of(error);
      if (!problem.isTransient) this.#attempt.answered();
      const { cards } = this.words;
      this.problem =
        problem.status === 0
          ? cards.unreachable
          : `${cards.newCardFailed} ${session.explain(problem)}`;
    } finally {
      this.isBusy = false;
    }
  }

  readonly #leave = (): void => {
    if (!this.making) return;
    this.making = null;
    void this.updateComplete.then(() =>
      this.shadowRoot?.querySelector<GreenroomMenu>('greenroom-menu')?.focus(),
    );
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-new-card': GreenroomNewCard;
  }
}
