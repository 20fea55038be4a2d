/** Profile cards and the list of blocked people are loaded together, with the first that is opened. */
export const loadPeople = (): Promise<unknown> => import('./index.ts');
/** With the first conversation, once that is there. */
export const loadBlockedNote = (): Promise<unknown> => import('./blocked_note.ts');
