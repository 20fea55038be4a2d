/** What the browser's tab says: how much is unread, and who the conversation is with. Pure. */

import type { Thread } from '@greenroom/sdk';

import type { Format } from '../i18n/format.ts';
import type { ShellWords } from '../i18n/shell.ts';
import { nameOf, othersIn } from '../session/people.ts';

export function threadName(thread: Thread, userId: string, format: Format): string {
  const names = othersIn(thread, userId).map(nameOf);
  return names.length > 0 ? format.list(names) : (thread.subject ?? '');
}

export function pageTitle(
  words: ShellWords,
  page: string | null,
  unread: number,
  format: Format,
): string {
  const { messages, product } = words;
  const title = page ? words.title(page, messages) : words.title(messages, product);
  return unread > 0 ? words.unreadTitle(format.number(unread), title) : title;
}
