/** `<greenroom-app>`, the pages of `/app`: who is signed in, in which language, at what address. */

import { readClaims, systemClock, type User } from '@greenroom/sdk';
import { css, html, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, query, state } from 'lit/decorators.js';

import { directionOf, english, loadWords, type Words } from '../i18n/index.ts';
import { englishShell, loadShellWords, type ShellWords } from '../i18n/shell.ts';
import { countsOf } from '../inbox/counts.ts';
import { tokens } from '../look/tokens.ts';
import type { Stop } from '../session/element.ts';
import { Pane } from '../session/pane.ts';
import { configure, type Session, signOut } from '../session/session.ts';
import { type Handed, handedToken } from './handed_token.ts';
import {
  forgetToken,
  isAlone,
  isSample,
  keepLocale,
  keepTheme,
  keepToken,
  keptTheme,
  keptToken,
  type Theme,
} from './kept.ts';
import { Navigation } from './navigation.ts';
import { pageLocale, regional, showLanguage, showTheme } from './page_look.ts';
import { takeToken } from './routes.ts';
import './sign_in.ts';
import type { Chosen, GreenroomSignIn } from './sign_in.ts';
import { Tabs } from './tabs.ts';
import { pageTitle, threadName } from './title.ts';
import { followViewport } from './viewport.ts';
import './workspace.ts';
import type { GreenroomWorkspace } from './workspace.ts';

@customElement('greenroom-app')
export class GreenroomApp extends Pane {
  static override styles = [
    tokens,
    Pane.styles,
    css`
      :host {
        background: var(--_surface);
        block-size: var(--app-height, 100dvh);
        display: block;
        inset-block-start: var(--app-top, 0);
        inset-inline: 0;
        overflow: hidden;
        position: fixed;
      }
    `,
  ];

  @state() private isSignedIn = false;
  @state() private person: User | null = null;
  @state() private pageTheme: Theme = keptTheme();
  @state() private pageWords: Words = english;
  @state() private shellWords: ShellWords = englishShell;
  @state() private reason: 'expired' | 'signedOut' | null = null;
  @query('greenroom-sign-in') private signIn!: GreenroomSignIn | null;
  @query('greenroom-workspace') private workspace!: GreenroomWorkspace | null;
  readonly #navigation = new Navigation(() => this.requestUpdate());
  #tabs: Tabs | null = null;
  #pageStops: Stop[] = [];

  /** The sign-in has words too, before there is a session. */
  override get words(): Words {
    return this.session?.words ?? this.pageWords;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    showTheme(this.pageTheme);
    void this.#loadWords();
    const tabs = new Tabs({ handed: this.#handedElsewhere, left: this.#leftElsewhere });
    this.#tabs = tabs;
    this.#pageStops = [
      this.#navigation.follow(),
      followViewport(this),
      this.#followHandovers(),
      () => tabs.stop(),
    ];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const stop of this.#pageStops.splice(0)) stop();
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (!this.hasUpdated) this.#begin();
    super.willUpdate(changed);
  }

  protected override joined(session: Session): Stop[] {
    this.person = null;
    // Only the menu needs it: nothing else waits for it, and without it there is still an id.
    session.client.rest.me().then(
      (person) => (this.person = person),
      () => {},
    );
    return [
      session.client.on('change', () => this.requestUpdate()),
      countsOf(session).onChange(() => this.requestUpdate()),
    ];
  }

  /** The token of this browser, or one that a marketplace has just handed over. */
  #begin(): void {
    const { token: handed, rest } = takeToken(new URL(location.href));
    if (handed) {
      history.replaceState(history.state, '', rest);
      keepToken(handed, 'marketplace');
    }
    const token = handed ?? keptToken();
    if (token && this.#navigation.route.page !== 'sign-in') this.#use(token);
    else if (handed) this.#signedIn(handed);
    else this.#navigation.signIn(this.#navigation.route.page === 'thread');
  }

  /** The same page may be given another token: then only the part after `#` changes. */
  #followHandovers(): Stop {
    const changed = (): void => {
      if (takeToken(new URL(location.href)).token) this.#begin();
    };
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }

  #use(token: string): void {
    const { dir } = this.#navigation.route;
    const { sub } = readClaims(token);
    const session: Session = configure({
      server: location.origin,
      locale: pageLocale(),
      ...(dir ? { dir } : {}),
      token: handedToken(handed(token), systemClock, {
        kept: () => keptTokenOf(sub),
        refused: () => {
          if (this.session === session) this.#expired(session);
        },
      }),
    });
    this.reason = null;
    this.isSignedIn = true;
  }

  #signedIn(token: string): void {
    this.#use(token);
    this.#navigation.signedIn();
  }

  /** Whoever is signed in stays so with any of their tokens; somebody else takes their place. */
  readonly #handedElsewhere = (token: string): void => {
    if (!this.isSignedIn || readClaims(token).sub === this.session?.userId) return;
    this.#navigation.replace({ page: 'inbox', threadId: null, panel: null });
    this.#use(token);
  };

  readonly #leftElsewhere = (): void => {
    if (this.isSignedIn) void this.#leave();
  };

  /** What waits to be sent stays: it goes on when the same person has signed in again. */
  #expired(session: Session): void {
    void session.close();
    forgetToken();
    this.reason = 'expired';
    this.isSignedIn = false;
    this.#navigation.signIn(true);
  }

  protected override render(): TemplateResult {
    const { route } = this.#navigation;
    if (!this.isSignedIn || route.page === 'sign-in') {
      return html`<greenroom-sign-in
        .words=${this.words}
        .shellWords=${this.shellWords}
        .reason=${this.reason ? this.shellWords[this.reason] : ''}
        @chosen=${this.#chosen}
      ></greenroom-sign-in>`;
    }
    return html`<greenroom-workspace
      .navigation=${this.#navigation}
      .route=${route}
      .shellWords=${this.shellWords}
      .person=${this.person}
      .pageTheme=${this.pageTheme}
      .sample=${isSample()}
      @greenroom-language=${this.#language}
      @greenroom-theme=${this.#theme}
      @greenroom-sign-out=${this.#signOut}
    ></greenroom-workspace>`;
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.get('isSignedIn') === true && !this.isSignedIn) this.signIn?.focus();
    if (changed.get('isSignedIn') === false && this.isSignedIn) this.workspace?.focus();
    const locale = this.session?.locale ?? pageLocale();
    const { dir } = this.#navigation.route;
    showLanguage(locale, this.session?.dir ?? dir ?? directionOf(locale));
    document.title = this.#title();
  }

  #title(): string {
    const shell = this.shellWords;
    const { page, threadId } = this.#navigation.route;
    const { session } = this;
    if (!session || page === 'sign-in') return shell.title(shell.signInTitle, shell.product);
    const { state } = session.client;
    const thread = threadId ? state.threads.get(threadId)?.thread : null;
    const unread = countsOf(session).now?.all ?? 0;
    const name = thread ? threadName(thread, session.userId, this.format) : null;
    return pageTitle(shell, name, unread, this.format);
  }

  async #loadWords(): Promise<void> {
    const locale = pageLocale();
    const words = [loadWords(locale), loadShellWords(locale)] as const;
    [this.pageWords, this.shellWords] = await Promise.all(words);
  }

  readonly #chosen = ({ detail: { token } }: CustomEvent<Chosen>): void => {
    keepToken(token, 'sample');
    this.#signedIn(token);
  };

  readonly #language = ({ detail }: CustomEvent<{ value: string }>): void => {
    const locale = regional(detail.value);
    keepLocale(detail.value);
    void this.#loadWords();
    void this.session?.useLocale(locale, this.#navigation.route.dir ?? directionOf(locale));
  };

  readonly #theme = ({ detail }: CustomEvent<{ value: Theme }>): void => {
    this.pageTheme = detail.value;
    keepTheme(detail.value);
    showTheme(detail.value);
  };

  readonly #signOut = async (): Promise<void> => {
    const isOwn = isAlone();
    forgetToken();
    if (!isOwn) this.#tabs?.tellSignedOut();
    await this.#leave();
  };

  async #leave(): Promise<void> {
    this.isSignedIn = false;
    this.reason = 'signedOut';
    this.#navigation.signIn(false);
    await signOut();
  }
}

function keptTokenOf(userId: string | undefined): Handed | null {
  const token = keptToken();
  return token && readClaims(token).sub === userId ? handed(token) : null;
}

function handed(token: string): Handed {
  return { token, endsAtMs: (readClaims(token).exp ?? Infinity) * 1000 };
}
