/** The catalogue as cards use it: asked for once, kept as long as the session's own. */

import type { Catalogue, CardType } from '@greenroom/sdk';

import { languageOf } from '../i18n/index.ts';
import type { Session } from '../session/session.ts';
import type { Types } from './catalogue.ts';

const kept = new WeakMap<Promise<Catalogue>, Promise<Types>>();

export function typesOf(session: Session): Promise<Types> {
  const asked = session.catalogue();
  let types = kept.get(asked);
  if (!types) {
    types = both(session, asked);
    kept.set(asked, types);
    types.catch(() => kept.delete(asked));
  }
  return types;
}

async function both(session: Session, asked: Promise<Catalogue>): Promise<Types> {
  const isEnglish = languageOf(session.locale) === 'en';
  const english = isEnglish ? asked : session.client.rest.catalogue('en');
  return { own: byName(await asked), english: byName(await english) };
}

function byName({ items }: Catalogue): Map<string, CardType> {
  return new Map(items.map((type) => [type.type, type]));
}
