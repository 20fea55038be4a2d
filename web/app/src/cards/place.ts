/** Where somebody is: a sketch without any request to a map's server, how far away it is, and a way
 * into a program that has maps. Loaded with the first card that shares a place. */

import { css, html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { loadPlaceWords, type PlaceWords } from '../i18n/place.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { drawLink } from './facts.ts';
import {
  bearing,
  coordinates,
  directionOf,
  distanceM,
  distanceText,
  type Point,
} from './geography.ts';
import { currentPosition } from './geolocation.ts';
import { cardLook } from './style.ts';

const WIDTH = 320;
const HEIGHT = 132;
const MIDDLE = { x: WIDTH / 2, y: HEIGHT / 2 };
const REACH = 46;
const RINGS = [23, REACH, 69, 92, 115, 138];

@customElement('greenroom-card-place')
export class GreenroomCardPlace extends GreenroomElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    cardLook,
    css`
      :host {
        display: flex;
        flex-direction: column;
        gap: calc(var(--_space) * 2);
      }

      .sketch {
        background: var(--_surface-sunken);
        block-size: auto;
        border-radius: var(--_radius-small);
        display: block;
        inline-size: 100%;
      }

      .ring {
        fill: none;
        stroke: var(--_line-strong);
        stroke-opacity: 0.45;
      }

      .way {
        stroke: var(--_text-quiet);
        stroke-dasharray: 2 5;
        stroke-linecap: round;
        stroke-width: 2;
      }

      .pin {
        fill: var(--_accent);
        stroke: var(--_surface-raised);
        stroke-width: 2;
      }

      .hole,
      .you {
        fill: var(--_surface-raised);
      }

      .you {
        stroke: var(--_text-quiet);
        stroke-width: 3;
      }

      text {
        fill: var(--_text-quiet);
        font-size: 11px;
        text-anchor: middle;
      }

      .doing {
        align-items: center;
        display: flex;
        flex-wrap: wrap;
        gap: calc(var(--_space) * 2) calc(var(--_space) * 4);
      }

      p {
        margin: 0;
      }
    `,
  ];

  @property({ attribute: false }) at: Point = { lat: 0, lon: 0 };
  /** What the one who shares it calls it. */
  @property() called = '';
  /** Whether it is the reader's own. */
  @property({ type: Boolean }) own = false;
  /** Null until the language is there. */
  @state() private placeWords: PlaceWords | null = null;
  @state() private here: Point | null = null;
  @state() private isLocating = false;
  @state() private problem = '';

  protected override joined(session: Session): Stop[] {
    const load = async (): Promise<void> => {
      this.placeWords = await loadPlaceWords(session.locale);
    };
    void load();
    return [session.onChange(() => void load())];
  }

  protected override render(): TemplateResult | typeof nothing {
    const words = this.placeWords;
    if (!words) return nothing;
    const { lat, lon } = this.at;
    const map = `https://www.openstreetmap.org/?mlat=${lat}&mlon=${lon}#map=16/${lat}/${lon}`;
    return html`${this.called ? html`<p class="main" dir="auto">${this.called}</p>` : nothing}
      ${this.#sketch(words)}
      <p class="small quiet">
        ${this.here ? html`<strong>${this.#distance(words, this.here)}</strong> · ` : nothing}<bdi
          >${coordinates(this.at, this.format.locale)}</bdi
        >
      </p>
      <div class="doing">
        ${drawLink(this.words.cards, map, words.openMap, 'place')}
        ${this.own || this.here ? nothing : this.#asking(words)}
      </div>
      ${this.problem ? html`<p class="small problem" role="alert">${this.problem}</p>` : nothing}`;
  }

  #asking(words: PlaceWords): TemplateResult {
    const { isLocating } = this;
    return html`<button class="button plain" ?disabled=${isLocating} @click=${this.#locate}>
      ${isLocating ? this.words.cards.locating : words.howFar}
    </button>`;
  }

  /** The reader in the middle and the place in its direction; before that is known, the place. */
  #sketch(words: PlaceWords): TemplateResult {
    const { here, at } = this;
    const isApart = here !== null && directionOf(here, at) !== null;
    const angle = isApart ? ((bearing(here, at) - 90) * Math.PI) / 180 : 0;
    const to = isApart
      ? { x: MIDDLE.x + REACH * Math.cos(angle), y: MIDDLE.y + REACH * Math.sin(angle) }
      : MIDDLE;
    return html`<svg class="sketch" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true">
      ${RINGS.map((radius) => svg`<circle class="ring" cx=${MIDDLE.x} cy=${MIDDLE.y} r=${radius} />`)}
      ${isApart ? this.#you(words, to) : nothing} ${pinAt(to)}
      <text x=${WIDTH - 16} y="18">${words.directionSigns.n} ↑</text>
    </svg>`;
  }

  #you(words: PlaceWords, to: { x: number; y: number }): SVGTemplateResult {
    return svg`<line class="way" x1=${MIDDLE.x} y1=${MIDDLE.y} x2=${to.x} y2=${to.y} />
      <circle class="you" cx=${MIDDLE.x} cy=${MIDDLE.y} r="6" />
      <text x=${MIDDLE.x} y=${to.y > MIDDLE.y ? MIDDLE.y - 14 : MIDDLE.y + 22}>${words.you}</text>`;
  }

  #distance(words: PlaceWords, here: Point): string {
    const direction = directionOf(here, this.at);
    if (!direction) return words.rightHere;
    const far = distanceText(distanceM(here, this.at), this.format.locale);
    return words.away(far, words.directions[direction]);
  }

  readonly #locate = async (): Promise<void> => {
    this.isLocating = true;
    this.problem = '';
    try {
      this.here = await currentPosition();
    } catch {
      this.problem = this.placeWords?.noOwnPosition ?? '';
    } finally {
      this.isLocating = false;
    }
  };
}

function pinAt({ x, y }: { x: number; y: number }): SVGTemplateResult {
  const shape = `M${x} ${y} c-10 -12 -13 -16 -13 -22 a13 13 0 0 1 26 0 c0 6 -3 10 -13 22 z`;
  return svg`<path class="pin" d=${shape} /><circle class="hole" cx=${x} cy=${y - 22} r="4.5" />`;
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-card-place': GreenroomCardPlace;
  }
}
