/** The button beside the composer that makes a card: which one, then what it takes. */

import { type CardType, Problem, type Thread } from '@greenroom/sdk';
import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import type { GreenroomMenu, MenuItem } from '../look/menu.ts';
import { personIn } from '../session/people.ts';
import { Attempt } from './attempt.ts';
import { cancelsLeg, NO_TYPES } from './catalogue.ts';
import { legShown } from './booking_timers.ts';
import { loadForm, panels } from './loaders.ts';
import { CardElement } from './element.ts';
import { creatableTypes, menuOf, type Stage } from './card_menu.ts';
import type { FormContext, Schema } from './schema.ts';
import { iconOf } from './card_icons.ts';

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

      /* Its place is kept, so that what stands beside it does not move. */
      :host([waiting]) {
        inline-size: 2.25rem;
      }

      @media (pointer: coarse) {
        :host([waiting]) {
          inline-size: 2.75rem;
        }
      }
    `,
  ];

  @property({ attribute: false }) thread: Thread | null = null;
  @state() private making: Making | null = null;
  @state() private stage: Stage = 'unbooked';
  /** The types that the server would not refuse as the booking stands; null: it was not asked. */
  @state() private offered: ReadonlySet<string> | null = null;
  @state() private isBusy = false;
  @state() private problem = '';
  readonly #attempt = new Attempt();

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    const before = changed.get('thread') as Thread | null | undefined;
    if (before && before.id !== this.thread?.id) {
      this.making = null;
      this.offered = null;
    }
    this.toggleAttribute('waiting', !this.thread || this.types === NO_TYPES);
  }

  protected override render(): TemplateResult | typeof nothing {
    const words = this.words.cards;
    const types = this.#types();
    if (types.length === 0) return nothing;
    return html`<greenroom-menu
        .label=${words.newCard}
        .icon=${'plus'}
        .side=${'start'}
        .items=${this.#items(types)}
        @focusin=${this.#seeStage}
      ></greenroom-menu>
      ${this.making ? this.#dialog(this.making) : nothing}`;
  }

  #items(types: readonly CardType[]): MenuItem[] {
    const { groups } = this.words.cards;
    return menuOf(types, this.stage).flatMap((section) =>
      section.types.map((type) => ({
        label: type.menu.offer,
        hint: type.menu.about,
        icon: iconOf(type.type),
        section: groups[section.group],
        isDanger: cancelsLeg(type),
        run: () => void this.#begin(type),
      })),
    );
  }

  /** How the booking stands decides what is likely. The header over the messages has asked for it
   * already, so this costs no request. */
  readonly #seeStage = async (): Promise<void> => {
    const { session, thread } = this;
    if (!session || !thread) return;
    const panel =
      thread.kind === 'project' ? await panels.get(session, thread.id).catch(() => null) : null;
    if (thread.id !== this.thread?.id) return;
    this.offered = panel && new Set(panel.can_make.map(({ type }) => type));
    this.stage = (panel && legShown(panel)?.state) ?? 'unbooked';
  };

  #types(): CardType[] {
    const { thread } = this;
    const me = personIn(thread, this.userId);
    if (!thread || thread.locked || me?.status !== 'active') return [];
    const hasBooking = Boolean(thread.group_id ?? thread.leg_id);
    const { offered } = this;
    const types = creatableTypes(this.types, { kind: thread.kind, role: me.role, hasBooking });
    return offered ? types.filter(({ type }) => offered.has(type)) : types;
  }

  #dialog({ type, schema, context }: Making): TemplateResult {
    const words = this.words.cards;
    return html`<greenroom-dialog
      open
      .heading=${type.menu.offer}
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
          void this.#make(type, { ...context.implied(event.detail.value), ...event.detail.value })}
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
      const context = await formContext(session, thread.id, schema, { type });
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
