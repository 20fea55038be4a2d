/** Listens to the keyboard of the whole page. */

import { isOnTop } from '../look/popover.ts';
import { hasSingleKeys } from './kept.ts';
import { type Command, commandOf } from './shortcuts.ts';

const WRITTEN_IN = 'input, textarea, select, [contenteditable]';

/** `run` says whether it did something: then the key does nothing else. Returns how to stop. */
export function followKeys(run: (command: Command) => boolean): () => void {
  const pressed = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return;
    // Escape is for what lies on top, and a dialog has keys of its own.
    if (isOnTop(event)) return;
    const [target] = event.composedPath();
    const command = commandOf(
      {
        key: event.key,
        alt: event.altKey,
        other: event.ctrlKey || event.metaKey,
        isWriting: target instanceof Element && target.matches(WRITTEN_IN),
      },
      hasSingleKeys(),
    );
    if (command && run(command)) event.preventDefault();
  };
  document.addEventListener('keydown', pressed);
  return () => document.removeEventListener('keydown', pressed);
}
