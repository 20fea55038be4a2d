/** Styles of a textarea that grows with its text, and the key that sends it. */

import { css } from 'lit';

/** A hidden copy of the text gives the height. Measuring the field itself would make it small for
 * a moment, and the messages above it jump. Use as `<div class="grow" data-text=…><textarea>`. */
export const growing = css`
  .grow {
    display: grid;
    flex: 1;
    min-inline-size: 0;
  }

  .grow::after {
    content: attr(data-text) ' ';
    overflow: hidden;
    overflow-wrap: break-word;
    visibility: hidden;
    white-space: pre-wrap;
  }

  .grow::after,
  .grow textarea {
    border: 0;
    box-sizing: border-box;
    font: inherit;
    grid-area: 1 / 1;
    inline-size: 100%;
    line-height: 1.45;
    max-block-size: calc(8lh + 1rem);
    min-inline-size: 0;
    padding: calc(0.5rem + 1px) 0.5rem;
  }

  .grow textarea {
    background: none;
    block-size: 100%;
    min-block-size: 0;
    overflow-y: auto;
    resize: none;
    scrollbar-width: none;
  }

  /* The frame around it shows the focus. */
  .grow textarea:focus-visible {
    outline: 0;
  }

  @media (pointer: coarse) {
    .grow::after,
    .grow textarea {
      font-size: max(1rem, var(--_size));
      min-block-size: 2.75rem;
      padding-block: calc(0.75rem - 2px);
    }
  }
`;

/** Enter sends, mouse or none; a finger has the button, and needs Enter for a new line. */
export function isSendKey(event: KeyboardEvent): boolean {
  // Safari ends a composition before the Enter that ended it: only its key code tells.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const isComposing = event.isComposing || event.keyCode === 229;
  const isPlain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
  const isForced = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
  if (event.key !== 'Enter' || isComposing) return false;
  return isForced || (isPlain && !matchMedia('(pointer: coarse)').matches);
}
