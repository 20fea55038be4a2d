/** Records a voice message: what is heard is seen, and it is sent or thrown away. */

import { css, html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';

import { announce } from '../look/announcer.ts';
import { icon } from '../look/icons.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { FilesElement } from './element.ts';
import { lengthText, waveFormOf } from './media.ts';

const TYPES = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus'];
const LOOK_EVERY_MS = 100;
const BARS_SHOWN = 48;
/** Of the wave form that others see. */
const BARS_SENT = 64;
/** Shorter ones were not meant. */
const LEAST_MS = 500;
/** Near its end the time that is left is shown. */
const WARN_MS = 30_000;
const LONGEST_S = 300;

/** Fires `over` when it was sent or thrown away. */
@customElement('greenroom-recorder')
export class GreenroomRecorder extends FilesElement {
  static override styles = [
    ...([GreenroomElement.styles].flat() as []),
    css`
      .bar {
        align-items: center;
        border: 1px solid var(--_accent);
        border-radius: var(--_radius-round);
        box-shadow: 0 0 0 1px var(--_accent);
        display: flex;
        gap: calc(var(--_space) * 2);
        min-block-size: 2.875rem;
        padding: 3px;
      }

      .dot {
        background: var(--_danger);
        block-size: 0.625rem;
        border-radius: 50%;
        flex: none;
        inline-size: 0.625rem;
      }

      .time {
        font-variant-numeric: tabular-nums;
        min-inline-size: 3rem;
      }

      .left {
        color: var(--_danger);
        font-size: var(--_size-small);
        white-space: nowrap;
      }

      svg.wave {
        block-size: 1.75rem;
        flex: 1;
        min-inline-size: 0;
      }

      svg.wave rect {
        fill: var(--_accent);
      }

      .send {
        align-items: center;
        background: var(--_accent);
        block-size: 2.375rem;
        border: 0;
        border-radius: 50%;
        color: var(--_on-accent);
        display: flex;
        flex: none;
        inline-size: 2.375rem;
        justify-content: center;
        padding: 0;
      }

      .discard {
        color: var(--_danger);
      }

      .problem {
        align-items: center;
        display: flex;
        margin: 0;
      }

      .problem span {
        flex: 1;
      }

      @media (prefers-reduced-motion: no-preference) {
        .dot {
          animation: beat 1s ease-in-out infinite alternate;
        }

        @keyframes beat {
          from {
            opacity: 0.25;
          }
        }
      }

      @media (pointer: coarse) {
        .send {
          block-size: 2.75rem;
          inline-size: 2.75rem;
        }
      }
    `,
  ];

  @property({ attribute: false }) threadId = '';
  @state() private lengthMs = 0;
  @state() private problem = '';
  readonly #peaks: number[] = [];
  #recorder: MediaRecorder | null = null;
  #sound: AudioContext | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;
  #beganMs = 0;
  #isWanted = false;

  protected override joined(session: Session): Stop[] {
    void this.#begin();
    return [...super.joined(session), () => this.#end()];
  }

  async #begin(): Promise<void> {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      if (!this.isConnected) {
        stream.getTracks().forEach((track) => track.stop());
        return;
      }
      const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
      const recorder = new MediaRecorder(stream, mimeType ? { mimeType } : {});
      const pieces: Blob[] = [];
      recorder.ondataavailable = ({ data }) => pieces.push(data);
      recorder.onstop = () => this.#recorded(new Blob(pieces, { type: recorder.mimeType }));
      this.#recorder = recorder;
      recorder.start();
      this.#beganMs = performance.now();
      this.#listen(stream);
      announce(this.fileWords.recording);
      await this.updateComplete;
      this.renderRoot.querySelector<HTMLElement>('.send')?.focus();
    } catch {
      this.problem = this.fileWords.noMicrophone;
    }
  }

  /** How loud it is, ten times a second. */
  #listen(stream: MediaStream): void {
    const sound = new AudioContext();
    const analyser = sound.createAnalyser();
    analyser.fftSize = 1024;
    sound.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    this.#sound = sound;
    this.#timer = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      const loudest = samples.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
      this.#peaks.push(Math.round(Math.min(1, loudest) * 100));
      this.lengthMs = performance.now() - this.#beganMs;
      if (this.lengthMs >= this.#mostMs) this.#finish(true);
    }, LOOK_EVERY_MS);
  }

  get #mostMs(): number {
    return 1000 * (this.limits?.voice_s ?? LONGEST_S);
  }

  protected override render(): TemplateResult {
    const words = this.fileWords;
    if (this.problem) {
      return html`<p class="problem" role="alert">
        <span>${this.problem}</span>
        <button type="button" class="icon-button" aria-label=${words.close} @click=${this.#over}>
          ${icon('close')}
        </button>
      </p>`;
    }
    const leftMs = this.#mostMs - this.lengthMs;
    return html`<div class="bar" role="group" aria-label=${words.recording} @keydown=${this.#key}>
      <button
        type="button"
        class="icon-button discard"
        aria-label=${words.stopAndDiscard}
        title=${words.stopAndDiscard}
        @click=${() => this.#finish(false)}
      >
        ${icon('bin')}
      </button>
      <span class="dot" aria-hidden="true"></span>
      <span class="time" role="timer" aria-live="off">${lengthText(this.lengthMs)}</span>
      ${this.#wave()}
      ${leftMs < WARN_MS ? html`<span class="left">${words.recordingEnds(lengthText(leftMs))}</span>` : nothing}
      <button
        type="button"
        class="send"
        aria-label=${words.stopAndSend}
        title=${words.stopAndSend}
        @click=${() => this.#finish(true)}
      >
        ${icon('send')}
      </button>
    </div>`;
  }

  #wave(): TemplateResult {
    const bars = this.#peaks.slice(-BARS_SHOWN);
    return html`<svg
      class="wave"
      viewBox="0 0 ${BARS_SHOWN * 6} 28"
      preserveAspectRatio="xMaxYMid"
      aria-hidden="true"
    >
      ${bars.map((bar, at) => waveBar(bar, at + BARS_SHOWN - bars.length))}
    </svg>`;
  }

  readonly #key = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    this.#finish(false);
  };

  #finish(isWanted: boolean): void {
    this.#isWanted = isWanted && this.lengthMs >= LEAST_MS;
    if (this.#recorder?.state === 'recording') this.#recorder.stop();
    else this.#over();
  }

  #recorded(blob: Blob): void {
    const { works, session, threadId, lengthMs } = this;
    if (this.#isWanted && works && session) {
      const most = this.#mostMs;
      const hints = {
        duration_ms: Math.min(most, Math.round(lengthMs)),
        peaks: waveFormOf(this.#peaks, BARS_SENT),
      };
      const file = works.addVoice(threadId, blob, this.fileWords.voiceName, hints);
      session.client.send(threadId, '', { files: [file] });
    }
    this.#over();
  }

  readonly #over = (): void => {
    this.#end();
    this.dispatchEvent(new CustomEvent('over', { detail: { isSent: this.#isWanted } }));
  };

  /** The light of the microphone goes out. */
  #end(): void {
    clearInterval(this.#timer ?? undefined);
    this.#recorder?.stream.getTracks().forEach((track) => track.stop());
    void this.#sound?.close().catch(() => {});
    this.#sound = null;
  }
}

function waveBar(loud: number, at: number): SVGTemplateResult {
  const height = Math.max(3, (loud / 100) * 28);
  return svg`<rect x=${at * 6} y=${(28 - height) / 2} width="3" height=${height} rx="1.5" />`;
}

declare global {
  interface HTMLElementTagNameMap {
    'greenroom-recorder': GreenroomRecorder;
  }
}
