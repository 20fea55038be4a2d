/** What the elements of cards have in common: the catalogue, the thread, the people in it. */

import type { Thread } from '@greenroom/sdk';
import { state } from 'lit/decorators.js';

import { GreenroomElement, type Stop } from '../session/element.ts';
import { nameOf, personIn } from '../session/people.ts';
import type { Session } from '../session/session.ts';
import { NO_TYPES, type Types } from './catalogue.ts';
import { typesOf } from './types.ts';

export abstract class CardElement extends GreenroomElement {
  @state() protected types: Types = NO_TYPES;

  protected override joined(session: Session): Stop[] {
    const load = (): void => {
      typesOf(session)
        .then((types) => (this.types = types))
        // Cards bring labels of their own; the catalogue is asked for again with the next one.
        .catch(() => {});
    };
    load();
    return [session.onChange(load)];
  }

  protected threadOf(threadId: string): Thread | null {
    return this.session?.client.state.threads.get(threadId)?.thread ?? null;
  }

  /** Null for the reader, as words of deeds take it. */
  protected doer(threadId: string, userId: string | null): string | null {
    return userId === this.userId ? null : this.nameIn(threadId, userId);
  }

  protected nameIn(threadId: string, userId: string | null): string {
    const person = personIn(this.threadOf(threadId), userId);
    return person ? nameOf(person) : (userId ?? this.words.cards.someone);
  }
}
