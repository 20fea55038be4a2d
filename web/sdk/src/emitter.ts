/** Tells whoever asked to be told, by name, with types. */

export class Emitter<Names extends object> {
  readonly #handlers = new Map<keyof Names, Set<(value: never) => void>>();

  /** Returns how to stop being told. */
  on<Name extends keyof Names>(name: Name, handler: (value: Names[Name]) => void): () => void {
    const handlers = this.#handlers.get(name) ?? new Set();
    this.#handlers.set(name, handlers);
    handlers.add(handler);
    return () => void handlers.delete(handler);
  }

  emit<Name extends keyof Names>(name: Name, value: Names[Name]): void {
    for (const handler of [...(this.#handlers.get(name) ?? [])]) {
      try {
        (handler as (value: Names[Name]) => void)(value);
      } catch (error) {
        // A page's mistake must show up as such, and must not stop the feed.
        if ('reportError' in globalThis) reportError(error);
        else console.error(error);
      }
    }
  }
}
