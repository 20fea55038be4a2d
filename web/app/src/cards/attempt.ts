/** The idempotency key of an action: the same for all attempts of it, a new one for the next action. */

export class Attempt {
  readonly #newKey: () => string;
  #deed = '';
  #key = '';

  constructor(newKey = randomKey) {
    this.#newKey = newKey;
  }

  /** The same deed has the same key until it is answered. */
  keyFor(deed: unknown): string {
    const text = JSON.stringify(deed);
    if (text !== this.#deed) this.#key = this.#newKey();
    this.#deed = text;
    return this.#key;
  }

  /** The server has answered: doing the same again is another deed. */
  answered(): void {
    this.#deed = '';
  }
}

/** Not `randomUUID`: pages that are not served securely do not have it. */
function randomKey(): string {
  const parts = crypto.getRandomValues(new Uint32Array(4));
  return Array.from(parts, (part) => part.toString(36)).join('-');
}
