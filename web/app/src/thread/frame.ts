/** Runs something in the next frame, once however often it is asked for.
 *
 * What measures the page waits for it: the browser lays the page out there anyway, and what is
 * measured between two changes would make it do so for each of them. */
export class Frame {
  readonly #run: () => void;
  #asked = 0;

  constructor(run: () => void) {
    this.#run = run;
  }

  ask(): void {
    this.#asked ||= requestAnimationFrame(() => {
      this.#asked = 0;
      this.#run();
    });
  }

  stop(): void {
    cancelAnimationFrame(this.#asked);
    this.#asked = 0;
  }
}
