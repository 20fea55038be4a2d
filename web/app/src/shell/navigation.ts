/** The page's address: changed by what the person does, followed when they go back or forward. */

import { addressOf, readRoute, type Route } from './routes.ts';

interface Entry {
  /** The address from which the person came here inside the app. */
  from?: string;
  /** Where to go after the sign-in. */
  to?: string;
}

export class Navigation {
  route: Route;
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
    this.route = readRoute(new URL(location.href));
  }

  /** Follows the browser's own buttons. Returns how to stop. */
  follow(): () => void {
    const moved = (): void => {
      this.route = readRoute(new URL(location.href));
      this.#changed();
    };
    window.addEventListener('popstate', moved);
    return () => window.removeEventListener('popstate', moved);
  }

  go(changes: Partial<Route>): void {
    const from = addressOf(this.route);
    this.route = { ...this.route, ...changes };
    history.pushState({ from } satisfies Entry, '', addressOf(this.route));
    this.#changed();
  }

  replace(changes: Partial<Route>): void {
    this.route = { ...this.route, ...changes };
    history.replaceState(this.#entry, '', addressOf(this.route));
    this.#changed();
  }

  /** Goes back if that leads there, so that the person's own way back stays short. */
  backTo(changes: Partial<Route>): void {
    const wanted = addressOf({ ...this.route, ...changes });
    if (this.#entry.from === wanted) history.back();
    else this.replace(changes);
  }

  signIn(isReturning: boolean): void {
    const to = isReturning ? { to: addressOf(this.route) } : {};
    this.route = { ...this.route, page: 'sign-in', threadId: null, panel: null };
    history.replaceState({ ...to } satisfies Entry, '', addressOf(this.route));
    this.#changed();
  }

  signedIn(): void {
    const { to } = this.#entry;
    const there = readRoute(new URL(to ?? '/app', location.href));
    this.route = { ...there, dir: this.route.dir ?? there.dir };
    history.replaceState({} satisfies Entry, '', addressOf(this.route));
    this.#changed();
  }

  get #entry(): Entry {
    return (history.state as Entry | null) ?? {};
  }
}
