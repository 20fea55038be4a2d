/** Base of all elements: gives them the session of the page, its language and the common styles. */

import type { Limits } from '@greenroom/sdk';
import { type CSSResultGroup, LitElement, type PropertyValues } from 'lit';
import { property, state } from 'lit/decorators.js';

import { Format } from '../i18n/format.ts';
import { english, type Words } from '../i18n/index.ts';
import { prepareAnnouncer } from '../look/announcer.ts';
import { controls } from '../look/controls.ts';
import { configure, currentSession, onSession, type Session } from './session.ts';

const plainFormat = new Format('en');

export type Stop = () => void;

export abstract class GreenroomElement extends LitElement {
  static override styles: CSSResultGroup = controls;

  @state() session: Session | null = null;
  /** An address of the host's site that gives tokens: configures the page's session. */
  @property({ attribute: 'token-url' }) tokenUrl: string | null = null;
  /** `light`, `dark`, or as the page around. */
  @property({ reflect: true }) theme: string | null = null;
  #stops: Stop[] = [];
  #sessionStops: Stop[] = [];

  get userId(): string {
    return this.session?.userId ?? '';
  }

  get words(): Words {
    return this.session?.words ?? english;
  }

  get format(): Format {
    return this.session?.format ?? plainFormat;
  }

  /** What the server allows, as far as it is known. */
  get limits(): Limits | null | undefined {
    return this.session?.client.limits;
  }

  get nowMs(): number {
    return this.session?.clock.now() ?? Date.now();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    prepareAnnouncer();
    if (this.tokenUrl && !currentSession()) configure({ tokenUrl: this.tokenUrl });
    this.#stops.push(onSession((session) => this.#use(session)));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const stop of this.#stops.splice(0)) stop();
    this.#leave();
    this.session = null;
  }

  /** Where an element begins to listen: called once per session. Returns how to stop. */
  protected joined(_session: Session): Stop[] {
    return [];
  }

  /** Draws anew every so often, for relative times and countdowns. Returns how to stop. */
  protected redrawEvery(everyMs: number): Stop {
    const timer = setInterval(() => {
      if (!document.hidden) this.requestUpdate();
    }, everyMs);
    return () => clearInterval(timer);
  }

  /** A CustomEvent that leaves the shadow, for whoever put the element there. */
  protected tell(name: string, detail: object = {}): boolean {
    return this.dispatchEvent(
      new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true }),
    );
  }

  protected override willUpdate(_changed: PropertyValues): void {
    if (!this.session) return;
    const { dir, locale } = this.session;
    // To set an attribute, even to what it is, makes the browser style all that is inside anew.
    if (this.dir !== dir) this.dir = dir;
    if (this.lang !== locale) this.lang = locale;
  }

  #use(session: Session | null): void {
    this.#leave();
    this.session = session;
    if (!session) return;
    this.#sessionStops.push(session.onChange(() => this.requestUpdate()));
    this.#sessionStops.push(...this.joined(session));
  }

  #leave(): void {
    for (const stop of this.#sessionStops.splice(0)) stop();
  }
}
