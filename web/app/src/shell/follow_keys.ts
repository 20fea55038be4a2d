/** Listens to the keyboard of the whole page. */

import { hasSingleKeys } from './kept.ts';
import { type Command, commandOf } from './shortcuts.ts';

const WRITTEN_IN = 'input, textarea, select, [contenteditable]';
const ON_TOP = 'dialog[open], [popover]:popover-open';

/** `run` says whether it did something: then the key does nothing else. Returns how to stop. */
export function followKeys(run: (command: Command) => boolean): () => void {
  const pressed = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return;
    const path = event.composedPath().filter((each) => each instanceof Element);
    // Escape is for what lies on top, and a dialog has keys of its own.
    if (path.some((each) => each.matches(ON_TOP))) return;
    const command = commandOf(
      {
        key: event.key,
        alt: event.altKey,
        other: event.ctrlKey || event.metaKey,
        isWriting: path[0]?.matches(WRITTEN_IN) ?? false,
      },
      hasSingleKeys(),
    );
    if (command && run(command)) event.preventDefault();
  };
  document.addEventListener('keydown', pressed);
  return () => document.removeEventListener('keydown', pressed);
}
