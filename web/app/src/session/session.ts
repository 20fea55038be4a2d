/** What all elements of a page share: the client, the person, the language. */

import {
  browserStorage,
  type Catalogue,
  type Clock,
  followPage,
  Greenroom,
  Problem,
  readClaims,
  systemClock,
  type TokenSource,
} from '@greenroom/sdk';

import {
  chooseLocale,
  directionOf,
  english,
  languageOf,
  loadWords,
  type Words,
} from '../i18n/index.ts';
import { Format } from '../i18n/format.ts';
import { forgetDrafts } from './drafts.ts';
import { loadWorks } from './later.ts';

export interface SessionOptions {
  /** Where Greenroom is; by default where this script came from. */
  server?: string;
  /** Gives a token of the person, whenever one is needed. */
  token?: TokenSource;
  /** An address of your site that answers with a token as plain text. */
  tokenUrl?: string;
  /** By default the languages of the browser. */
  locale?: string;
  /** By default the direction of the language. */
  dir?: 'ltr' | 'rtl';
}

export class Session {
  readonly client: Greenroom;
  /** Where Greenroom is; ends with a slash. */
  readonly server: string;
  readonly clock: Clock = systemClock;
  /** Empty until the first token is there. */
  userId = '';
  /** The site has said that nobody is signed in, and has not given a token since. */
  isSignedOut = false;
  locale: string;
  dir: 'ltr' | 'rtl';
  words: Words = english;
  format: Format;
  readonly ready: Promise<void>;
  readonly #listeners = new Set<() => void>();
  readonly #reloads = new Set<() => Promise<void> | void>();
  #catalogue: Promise<Catalogue> | null = null;
  readonly #token: TokenSource;
  readonly #stopFollowing: () => void;

  constructor(options: SessionOptions) {
    this.locale = chooseLocale([options.locale ?? [], navigator.languages].flat());
    this.dir = options.dir ?? directionOf(this.locale);
    this.format = new Format(this.locale, undefined, () => this.clock.now());
    this.#token = options.token ?? tokenFrom(options.tokenUrl ?? '');
    const first = this.#ask();
    first.catch(() => {});
    let isFirst = true;
    this.server = new URL('/', options.server ?? /* @vite-ignore */ import.meta.url).href;
    this.client = new Greenroom({
      url: this.server,
      token: () => {
        const asked = isFirst ? first : this.#ask();
        isFirst = false;
        return asked;
      },
      storage: browserStorage(),
      reload: () => this.reload(),
    });
    this.client.on('limits', () => this.#changed());
    const stopLooking = this.client.on('connection', ({ state }) => {
      stopLooking();
      if (state !== 'live')
        import('./origin_hint.ts').then(
          (hint) => hint.hintAtOrigin(this.server),
          () => {},
        );
    });
    this.ready = this.#prepare(first);
    // Whoever waits for it hears of it; the elements show what the client meets.
    this.ready.catch(() => {});
    this.#stopFollowing = followPage(this.client);
    void this.client.connect();
    this.format.prepare();
  }

  /** Called when the language, the person or the catalogue is another. Returns how to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called after a gap in the feed: load anew what you show. Returns how to stop. */
  onReload(reload: () => Promise<void> | void): () => void {
    this.#reloads.add(reload);
    return () => this.#reloads.delete(reload);
  }

  /** Everything that is shown is loaded anew. */
  async reload(): Promise<void> {
    await Promise.all([...this.#reloads].map(async (reload) => reload()));
  }

  /** Card types with labels in the person's language; asked for once. */
  catalogue(): Promise<Catalogue> {
    this.#catalogue ??= this.client.rest
      .catalogue(languageOf(this.locale))
      .catch((error: unknown) => {
        this.#catalogue = null;
        throw error;
      });
    return this.#catalogue;
  }

  async useLocale(locale: string, dir = directionOf(locale)): Promise<void> {
    const words = await loadWords(locale);
    this.words = words;
    this.locale = locale;
    this.dir = dir;
    this.format = new Format(locale, undefined, () => this.clock.now());
    this.#catalogue = null;
    this.#changed();
  }

  /** A picture that the server names may lie on the server itself. Only web addresses are shown. */
  avatarOf({ avatar_url }: { avatar_url: string | null }): string | null {
    if (!avatar_url) return null;
    const { href, protocol } = new URL(avatar_url, this.server);
    return protocol === 'https:' || protocol === 'http:' ? href : null;
  }

  /** What went wrong, in words, with what to do next. */
  explain(error: unknown): string {
    const problem = Problem.of(error);
    if (problem.status === 0) return this.words.look.unreachable;
    if (problem.status === 401) return this.words.look.notSignedIn;
    const { title, detail, hint } = problem.document;
    return [detail || title, hint].filter(Boolean).join(' ');
  }

  /** Somebody may have signed in at the site meanwhile. */
  async askAgain(): Promise<void> {
    try {
      await this.#ask();
      await this.client.connect();
    } catch {
      return;
    }
  }

  async close(): Promise<void> {
    this.#stopFollowing();
    await this.client.close();
  }

  /** Logs out: nothing of the person stays in this browser. */
  async forget(): Promise<void> {
    this.#stopFollowing();
    forgetDrafts(this.userId);
    const cleared = loadWorks().then(({ clearUploads }) => clearUploads(this.userId));
    await Promise.all([this.client.forget(), cleared.catch(() => {})]);
  }

  async #prepare(token: Promise<string>): Promise<void> {
    const words = loadWords(this.locale);
    await token.catch(() => {});
    this.words = await words;
    this.#changed();
    await token;
  }

  async #ask(): Promise<string> {
    try {
      const token = await Promise.resolve().then(this.#token);
      this.#know(readClaims(token).sub ?? '', false);
      return token;
    } catch (error) {
      this.#know(this.userId, Problem.of(error).status === 401);
      throw error;
    }
  }

  /** Threads load for a person, whether or not the words are there. */
  #know(userId: string, isSignedOut: boolean): void {
    const isSame = userId === this.userId && isSignedOut === this.isSignedOut;
    this.userId = userId;
    this.isSignedOut = isSignedOut;
    if (!isSame) this.#changed();
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function tokenFrom(url: string): TokenSource {
  return async () => {
    const answer = await fetch(url, { credentials: 'same-origin', cache: 'no-store' });
    if (!answer.ok) throw Problem.noToken(answer.status);
    return (await answer.text()).trim();
  };
}

let current: Session | null = null;
const waiting = new Set<(session: Session | null) => void>();

/** Makes this the page's session; the one before is closed. */
export function configure(options: SessionOptions): Session {
  void current?.close();
  become(new Session(options));
  return current as unknown as Session;
}

export async function signOut(): Promise<void> {
  const session = current;
  become(null);
  await session?.forget();
}

export function currentSession(): Session | null {
  return current;
}

/** Called at once and whenever there is another session. Returns how to stop. */
export function onSession(listener: (session: Session | null) => void): () => void {
  waiting.add(listener);
  listener(current);
  return () => waiting.delete(listener);
}

function become(session: Session | null): void {
  current = session;
  for (const listener of [...waiting]) listener(session);
}
