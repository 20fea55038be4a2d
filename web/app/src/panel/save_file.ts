/** Gives the person a file, as if they had followed a link to it. */

const NOT_IN_NAMES = /[\\/:*?"<>|\p{Cc}]+/gu;
const KEPT_MS = 60_000;

export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name.replace(NOT_IN_NAMES, ' ').trim();
  link.click();
  // Some browsers read it only after the click has returned.
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
