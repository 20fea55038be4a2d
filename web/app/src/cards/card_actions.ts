/** The actions of a card. Repeated attempts of one action share an idempotency key, so that it
 * happens once. */

import { type Card, type CardAction, type Leg, Problem, type Thread } from '@greenroom/sdk';
import type { PropertyValues } from 'lit';
import { property, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import { draftOf, saveDraft } from '../session/drafts.ts';
import type { Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { type Confirmation, needsConfirmation } from './confirmation.ts';
import { Attempt } from './attempt.ts';
import { movingOf, stateLabel, titleOf } from './catalogue.ts';
import { loadForm, loadHistoryWords, panels } from './loaders.ts';
import { CardElement } from './element.ts';
import type { FormContext, Schema } from './schema.ts';

const MOST_ANNOUNCED = 500;

/** The same card may be shown in the thread and in the panel: its news are said once. */
const announced = new Map<string, number>();

interface Filling {
  action: CardAction;
  schema: Schema;
  context: FormContext;
  value: Record<string, unknown>;
}

/** What was pressed and not answered: tried again, it happens once. */
interface Unanswered {
  action: CardAction;
  input: object;
  card: Card;
}

export abstract class CardActions extends CardElement {
  @property({ attribute: false }) card: Card | null = null;
  /** What an answer or the feed has told before the page around knows. */
  @state() protected newer: Card | null = null;
  @state() protected asking: CardAction | null = null;
  /** What is asked about, as the panel had it when it was asked. */
  @state() private leg: Leg | null = null;
  @state() protected filling: Filling | null = null;
  @state() protected busy: string | null = null;
  @state() protected unanswered: Unanswered | null = null;
  @state() protected told = '';
  /** The pictures that are chosen so far, by their ids. */
  @state() protected chosen: readonly string[] = [];
  @state() protected problem = '';
  readonly #attempt = new Attempt();
  #shownBefore: Card | null = null;
  #threadBefore: Thread | null = null;

  protected override joined(session: Session): Stop[] {
    const { client } = session;
    const learn = ({ card }: { card?: Card }): void => {
      if (card && card.id === this.card?.id) this.#learn(card);
    };
    return [
      ...super.joined(session),
      client.on('event', learn),
      client.on('change', () => this.#learnNames()),
    ];
  }

  /** They are the thread's, which may come after its cards. */
  #learnNames(): void {
    const thread = this.threadOf(this.card?.thread_id ?? '');
    if (thread === this.#threadBefore) return;
    this.#threadBefore = thread;
    this.requestUpdate();
  }

  /** The latest form that is known. */
  get shown(): Card | null {
    const { card, newer } = this;
    return newer && newer.id === card?.id && newer.version > card.version ? newer : card;
  }

  #learn(card: Card): void {
    if (card.version > (this.shown?.version ?? 0)) this.newer = card;
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    const { shown } = this;
    const before = this.#shownBefore;
    this.#shownBefore = shown;
    if (!shown) return;
    const isSame = shown.id === before?.id;
    if (before && !isSame) this.forgetCard();
    if (isSame && shown.version === before.version) return;
    this.#recallChoice(shown);
    if (!isSame) return;
    if (this.asking && this.busy === null && this.shadowRoot?.activeElement) {
      void this.#focus('section');
    }
    this.asking = null;
    if (this.unanswered && this.busy === null) void this.#lookWhetherDone(this.unanswered);
    this.#announce(shown);
  }

  /** Another card took this place. */
  protected forgetCard(): void {
    this.newer = this.asking = this.filling = this.unanswered = this.busy = null;
    this.told = this.problem = '';
    this.chosen = [];
  }

  #announce(card: Card): void {
    if ((announced.get(card.id) ?? 0) >= card.version) return;
    if (announced.size >= MOST_ANNOUNCED) announced.clear();
    announced.set(card.id, card.version);
    announce(`${titleOf(card, this.types)}: ${stateLabel(card, this.types)}`);
  }

  /** The answer was lost, but the card has moved: perhaps by what was pressed here. */
  async #lookWhetherDone(pressed: Unanswered): Promise<void> {
    const { action, card } = pressed;
    const page = await this.session?.client.rest.card(card.id).catch(() => null);
    if (!page || this.unanswered !== pressed) return;
    this.unanswered = null;
    this.problem = '';
    this.#attempt.answered();
    const isDone = page.history.some(
      ({ version, actor, act }) =>
        version > card.version && actor === this.userId && act === action.action,
    );
    if (isDone) this.filling = null;
  }

  protected confirmationOf(card: Card, action: CardAction): Confirmation {
    const { types, format, userId } = this;
    const [buyer, seller] = [card.buyer, card.seller].map((id) => this.nameIn(card.thread_id, id));
    const people = { buyer: buyer ?? '', seller: seller ?? '' };
    const { leg, nowMs } = this;
    return { card, action, types, words: this.words.cards, format, userId, leg, nowMs, ...people };
  }

  protected async press(card: Card, action: CardAction): Promise<void> {
    if (this.busy !== null || !this.session) return;
    this.told = this.problem = '';
    this.unanswered = null;
    const schema = action.input as Schema | null;
    if (asksForChoice(schema)) return this.#decide(action);
    if (schema && Object.keys(schema.properties ?? {}).length > 0) {
      return this.#openForm(this.session, card, action, schema);
    }
    if (!needsConfirmation(this.confirmationOf(card, action))) return this.act(card, action, {});
    if (movingOf(card, action, this.types) === 'complete') this.leg = await this.#legOf(card);
    this.asking = action;
    await this.#focus('.sure');
  }

  /** What is chosen among the pictures is what the action takes. */
  async #decide(action: CardAction): Promise<void> {
    if (this.chosen.length > 0) {
      this.asking = action;
      return this.#focus('.sure');
    }
    this.told = this.words.cards.chooseFirst;
    announce(this.told);
    await this.#focus('greenroom-proofs');
  }

  /** Kept in this browser until it is sent. */
  protected choose(card: Card, chosen: readonly string[]): void {
    this.chosen = chosen;
    saveDraft(this.userId, choiceKey(card), chosen.join(' '));
  }

  #recallChoice(card: Card): void {
    const gallery: unknown = card.payload['gallery'];
    if (!Array.isArray(gallery)) return;
    const kept = draftOf(this.userId, choiceKey(card)).split(' ');
    this.chosen = (gallery as string[]).filter((id) => kept.includes(id));
  }

  protected inputOf(action: CardAction): object {
    return asksForChoice(action.input) ? { selections: this.chosen } : {};
  }

  async #legOf({ thread_id, leg_id }: Card): Promise<Leg | null> {
    const { session } = this;
    const panel = session && (await panels.get(session, thread_id).catch(() => null));
    return panel?.booking?.legs.find(({ id }) => id === leg_id) ?? null;
  }

  async #openForm(session: Session, card: Card, action: CardAction, schema: Schema): Promise<void> {
    try {
      const { answerOf, formContext } = await loadForm();
      const context = await formContext(session, card.thread_id, schema, { card });
      this.filling = { action, schema, context, value: answerOf(card, schema) };
    } catch (error) {
      this.problem = session.explain(error);
    }
  }

  protected readonly retry = (): void => {
    const { unanswered } = this;
    if (unanswered) void this.act(unanswered.card, unanswered.action, unanswered.input);
  };

  protected async act(card: Card, action: CardAction, input: object): Promise<void> {
    const { session } = this;
    if (!session || this.busy !== null) return;
    this.busy = action.action;
    this.told = this.problem = '';
    const deed = [card.id, card.version, action.action, input];
    try {
      const key = this.#attempt.keyFor(deed);
      const done = await session.client.rest.actOnCard(card, action.action, input, key);
      this.#attempt.answered();
      this.filling = this.asking = this.unanswered = null;
      saveDraft(this.userId, choiceKey(card), '');
      this.#learn(done);
      await this.#focus('section');
    } catch (error) {
      await this.#refused(session, Problem.of(error), { card, action, input });
    } finally {
      this.busy = null;
    }
  }

  async #refused(session: Session, problem: Problem, pressed: Unanswered): Promise<void> {
    if (problem.isTransient) {
      this.unanswered = pressed;
      this.asking = null;
      this.problem = problem.status === 0 ? this.words.cards.unreachable : session.explain(problem);
      return;
    }
    this.#attempt.answered();
    this.unanswered = this.asking = null;
    const isLate = problem.status === 409 && problem.code !== 'ACTION_CONFLICT';
    if (isLate) await this.#explainChange(session, problem, pressed.card);
    else this.problem = session.explain(problem);
  }

  /** Somebody was faster: says who and what, and shows how it stands now. */
  async #explainChange(session: Session, problem: Problem, card: Card): Promise<void> {
    const words = this.words.cards;
    const now = await session.client.rest.card(card.id).catch(() => null);
    const current = now?.card ?? problem.document.card;
    if (!current || current.version <= card.version) {
      this.problem = session.explain(problem);
      return;
    }
    this.#learn(current);
    const label = stateLabel(current, this.types);
    const last = now?.history.at(-1);
    const past = await loadHistoryWords(session.locale).catch(() => null);
    const said = last && past?.acts[last.act]?.(this.doer(card.thread_id, last.actor));
    const what = said ? words.meanwhile(said, label) : words.meanwhileChanged(label);
    this.told = current.available_actions.length > 0 ? `${what} ${words.lookAgain}` : what;
    announce(this.told);
  }

  protected readonly unask = async (): Promise<void> => {
    const { asking } = this;
    this.asking = null;
    if (asking) await this.#focus(`[data-action="${CSS.escape(asking.action)}"]`);
  };

  protected readonly leaveForm = async (): Promise<void> => {
    const { filling } = this;
    if (!filling) return;
    this.filling = this.unanswered = null;
    this.problem = '';
    await this.#focus(`[data-action="${CSS.escape(filling.action.action)}"]`);
  };

  /** Where that is no more, the card itself. */
  async #focus(selector: string): Promise<void> {
    await this.updateComplete;
    const find = (what: string) => this.shadowRoot?.querySelector<HTMLElement>(what);
    (find(selector) ?? find('section'))?.focus();
  }
}

/** Each round is chosen from anew. */
function choiceKey({ id, totals }: Card): string {
  return `${id}.${Number(totals['round'] ?? 1)}`;
}

/** Whether an action takes a choice among the pictures of its card, and nothing else. */
export function asksForChoice(input: object | null): boolean {
  const names = Object.keys((input as Schema | null)?.properties ?? {});
  return names.length === 1 && names[0] === 'selections';
}
