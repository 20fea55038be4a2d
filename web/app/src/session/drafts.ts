/** What a person has begun to write, per thread, kept in this browser. */

export const MOST_DRAFTS = 100;
const LONGEST_DRAFT = 20_000;
const PREFIX = 'greenroom.drafts.';

type Drafts = Record<string, string>;
type Listener = (threadId: string) => void;

const listeners = new Set<Listener>();
/** Also what is left where the browser keeps nothing: the drafts of this page. */
const known = new Map<string, Drafts>();
let isListening = false;

export function draftOf(userId: string, threadId: string): string {
  return draftsOf(userId)[threadId] ?? '';
}

export function saveDraft(userId: string, threadId: string, text: string): void {
  if (!userId || draftOf(userId, threadId) === text) return;
  known.set(userId, withDraft(draftsOf(userId), threadId, text));
  store(userId);
  tell(threadId);
}

/** Called when a draft is another, here or in another tab. Returns how to stop. */
export function onDraft(listener: Listener): () => void {
  listenToOtherTabs();
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The person logs out. */
export function forgetDrafts(userId: string): void {
  const threadIds = Object.keys(draftsOf(userId));
  known.set(userId, {});
  store(userId);
  threadIds.forEach(tell);
}

/** The one written last is the last; the oldest go. An empty one is none. */
export function withDraft(drafts: Drafts, threadId: string, text: string): Drafts {
  const { [threadId]: _before, ...others } = drafts;
  if (text.trim() === '') return others;
  const kept = Object.entries(others).slice(1 - MOST_DRAFTS);
  return Object.fromEntries([...kept, [threadId, text.slice(0, LONGEST_DRAFT)]]);
}

/** Whatever lies in the storage: only texts by thread are taken. */
export function parseDrafts(stored: string | null): Drafts {
  try {
    const parsed: unknown = JSON.parse(stored ?? '{}');
    if (typeof parsed !== 'object' || parsed === null) return {};
    const texts = Object.entries(parsed).filter(([, text]) => typeof text === 'string');
    return Object.fromEntries<string>(texts.slice(-MOST_DRAFTS));
  } catch {
    return {};
  }
}

function draftsOf(userId: string): Drafts {
  let drafts = known.get(userId);
  if (!drafts) {
    drafts = parseDrafts(read(PREFIX + userId));
    known.set(userId, drafts);
  }
  return drafts;
}

/** A storage that is forbidden holds nothing. */
function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Where the storage is full or forbidden, drafts live as long as the page. */
function store(userId: string): void {
  const drafts = known.get(userId) ?? {};
  try {
    if (Object.keys(drafts).length === 0) localStorage.removeItem(PREFIX + userId);
    else localStorage.setItem(PREFIX + userId, JSON.stringify(drafts));
  } catch {
    return;
  }
}

function listenToOtherTabs(): void {
  if (isListening || typeof addEventListener !== 'function') return;
  isListening = true;
  addEventListener('storage', ({ key, newValue }) => {
    if (!key?.startsWith(PREFIX)) return;
    const userId = key.slice(PREFIX.length);
    const before = draftsOf(userId);
    const after = parseDrafts(newValue);
    known.set(userId, after);
    const threadIds = new Set([...Object.keys(before), ...Object.keys(after)]);
    for (const id of threadIds) if (before[id] !== after[id]) tell(id);
  });
}

function tell(threadId: string): void {
  for (const listener of [...listeners]) listener(threadId);
}
