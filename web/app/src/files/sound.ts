/** A voice note or another sound: played here, with its wave form, at one to two times its speed. */

import type { StoredFile } from '@greenroom/sdk';
import { css, html, nothing, svg, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { GreenroomElement } from '../session/element.ts';
import { isStale, playableOf } from './addresses.ts';
import { FilesElement } from './element.ts';
import { fileIcon } from './icons.ts';
import { barsOf, lengthText } from './media.ts';
import { whyWithheld } from './picture.ts';
import type { Local } from './works.ts';

const BARS = 36;
const BAR = 3;
const HEIGHT = 28;
const SPEEDS = [1, 1.5, 2];

/** What plays now: another one makes it stop. */
let playing: HTMLAudioElement | null = null;

@customElement('greenroom-sound')
export class GreenroomSound extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      :host {
        display: block;
      }

      .player {
        align-items: center;
        display: grid;
        gap: 0 calc(var(--_space) * 2.5);
        grid-template-columns: auto 1fr auto;
        min-block-size: 3.5rem;
        padding: calc(var(--_space) * 1) calc(var(--_space) * 2);
      }

      .play {
        align-items: center;
        background: var(--_accent);
        block-size: 2.5rem;
        border: 0;
        border-radius: 50%;
        color: var(--_on-accent);
        display: flex;
        inline-size: 2.5rem;
        justify-content: center;
        padding: 0;
      }

      .wave {
        block-size: 1.75rem;
        direction: ltr;
        min-inline-size: 0;
        position: relative;
      }

      .wave svg {
        block-size: 100%;
        display: block;
        inline-size: 100%;
      }

      rect {
        fill: color-mix(in oklab, currentcolor 32%, transparent);
      }

      rect.past {
        fill: var(--_accent-text);
      }

      .wave input {
        block-size: 100%;
        cursor: pointer;
        inline-size: 100%;
        inset: 0;
        margin: 0;
        opacity: 0;
        position: absolute;
      }

      .wave:has(:focus-visible) {
        border-radius: 4px;
        outline: 2px solid var(--_accent);
        outline-offset: 2px;
      }

      .speed {
        background: color-mix(in oklab, currentcolor 9%, transparent);
        border: 0;
        border-radius: var(--_radius-round);
        font-size: var(--_size-tiny);
        font-variant-numeric: tabular-nums;
        font-weight: 600;
        min-block-size: 1.75rem;
        min-inline-size: 2.75rem;
        padding: 0;
      }

      .time {
        font-size: var(--_size-tiny);
        font-variant-numeric: tabular-nums;
        grid-column: 2;
        opacity: 0.8;
      }

      .note {
        font-size: var(--_size-small);
        margin: 0;
        padding: calc(var(--_space) * 2) calc(var(--_space) * 3);
      }

      @media (pointer: coarse) {
        .play {
          block-size: 2.75rem;
          inline-size: 2.75rem;
        }

        .speed {
          min-block-size: 2.75rem;
        }
      }
    `,
  ];

  @property({ attribute: false }) file: StoredFile | null = null;
  @property({ attribute: false }) local: Local | null = null;
  /** What the recorder has measured, until the server has. */
  @property({ attribute: false }) about: Readonly<Record<string, unknown>> | null = null;
  @state() private isPlaying = false;
  @state() private atMs = 0;
  @state() private speed = 1;
  @state() private src: string | null = null;
  @query('audio') private audio!: HTMLAudioElement | null;
  #frame = 0;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.audio?.pause();
    cancelAnimationFrame(this.#frame);
  }

  get #lengthMs(): number {
    const { file, about } = this;
    return file?.duration_ms ?? (Number(about?.['duration_ms']) || 0);
  }

  get #peaks(): readonly number[] {
    return this.file?.peaks ?? (this.about?.['peaks'] as number[] | undefined) ?? [];
  }

  protected override render(): TemplateResult {
    const { file } = this;
    const words = this.fileWords;
    if (file && !['ready', 'processing', 'uploading'].includes(file.state)) {
      return html`<p class="note">${whyWithheld(file, words, this.userId)}</p>`;
    }
    const lengthMs = this.#lengthMs;
    const canPlay = Boolean(this.local ?? (file && playableOf(file)));
    return html`<div
      class="player"
      role="group"
      aria-label=${words.voiceMessage(lengthText(lengthMs))}
    >
      <button
        type="button"
        class="play"
        ?disabled=${!canPlay}
        aria-label=${this.isPlaying ? words.pausePlaying : words.play}
        @click=${this.#toggle}
      >
        ${fileIcon(this.isPlaying ? 'pause' : 'play')}
      </button>
      <div class="wave">
        ${this.#wave(lengthMs)}
        <input
          type="range"
          min="0"
          max=${Math.max(lengthMs, 1)}
          step="1000"
          ?disabled=${!canPlay}
          .value=${String(this.atMs)}
          aria-label=${words.position}
          aria-valuetext=${lengthText(this.atMs)}
          @input=${this.#seek}
        />
      </div>
      <button
        type="button"
        class="speed"
        aria-label=${words.speed(this.#speedText())}
        @click=${this.#faster}
      >
        ${this.#speedText()}
      </button>
      <span class="time">${this.#timeText(lengthMs)}</span>
      ${
        this.src
          ? html`<audio
              src=${this.src}
              @play=${this.#started}
              @pause=${this.#stopped}
              @ended=${this.#ended}
              @error=${this.#stopped}
            ></audio>`
          : nothing
      }
    </div>`;
  }

  /** Nothing where nobody knows how long it is. */
  #timeText(lengthMs: number): string {
    if (this.isPlaying || this.atMs > 0) return lengthText(this.atMs);
    return lengthMs > 0 ? lengthText(lengthMs) : '';
  }

  #wave(lengthMs: number): TemplateResult {
    const bars = barsOf(this.#peaks, BARS);
    const loudest = Math.max(1, ...bars);
    const past = lengthMs > 0 ? (this.atMs / lengthMs) * BARS : 0;
    const width = BARS * BAR * 2 - BAR;
    return html`<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
      ${bars.map((bar, at) => {
        const height = Math.max(BAR, (bar / loudest) * HEIGHT);
        return svg`<rect class=${at < past ? 'past' : ''} x=${at * BAR * 2} y=${(HEIGHT - height) / 2}
          width=${BAR} height=${height} rx="1.5" />`;
      })}
    </svg>`;
  }

  #speedText(): string {
    return `${this.format.number(this.speed)}×`;
  }

  readonly #toggle = async (): Promise<void> => {
    if (this.isPlaying) return this.audio?.pause();
    await this.#load();
    const { audio } = this;
    if (!audio) return;
    audio.playbackRate = this.speed;
    if (audio.ended) audio.currentTime = 0;
    await audio.play().catch(() => {});
  };

  async #load(): Promise<void> {
    const { file, local, works } = this;
    if (local) this.src = local.url;
    else if (file && (!this.src || isStale(file, this.nowMs)) && this.atMs === 0) {
      const isOld = isStale(file, this.nowMs);
      const now = isOld && works ? await works.files.get(file.id).catch(() => file) : file;
      this.src = playableOf(this.reached(now))?.url ?? null;
    }
    await this.updateComplete;
  }

  readonly #faster = (): void => {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length] ?? 1;
    if (this.audio) this.audio.playbackRate = this.speed;
  };

  readonly #seek = async (event: Event): Promise<void> => {
    const atMs = Number((event.target as HTMLInputElement).value);
    await this.#load();
    this.atMs = atMs;
    if (this.audio) this.audio.currentTime = atMs / 1000;
  };

  readonly #started = (): void => {
    if (playing !== this.audio) playing?.pause();
    playing = this.audio;
    this.isPlaying = true;
    this.#follow();
  };

  readonly #follow = (): void => {
    if (this.audio) this.atMs = this.audio.currentTime * 1000;
    if (this.isPlaying) this.#frame = requestAnimationFrame(this.#follow);
  };

  readonly #stopped = (): void => {
    this.isPlaying = false;
  };

  readonly #ended = (): void => {
    this.isPlaying = false;
    this.atMs = 0;
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-sound': GreenroomSound;
  }
}
