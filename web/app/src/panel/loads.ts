/** What the panel has loaded of one thread: kept while it loads anew, so that nothing flickers. */

import type { Panel, PanelTabs, Thread } from '@greenroom/sdk';

import type { Session } from '../session/session.ts';
import type { TabName } from './tabs.ts';

export interface Loaded {
  panel: Panel | null;
  tabs: Partial<PanelTabs>;
  thread: Thread | null;
  /** Why the last attempt failed; what was there before stays. */
  error: unknown;
}

/** Whether there is what a tab shows. */
export function hasAll({ panel, tabs }: Loaded, tab: TabName): boolean {
  if (tab === 'actions' || tab === 'files') return tabs[tab] !== undefined;
  if (!panel) return false;
  return !panel.booking || (tab !== 'expenses' && tab !== 'docs') || tabs[tab] !== undefined;
}

export class Loads {
  readonly threadId: string;
  readonly now: Loaded = { panel: null, tabs: {}, thread: null, error: null };
  readonly #session: Session;
  readonly #changed: () => void;
  #latest = 0;

  constructor(session: Session, threadId: string, changed: () => void) {
    this.#session = session;
    this.threadId = threadId;
    this.#changed = changed;
    this.now.thread = session.client.state.threads.get(threadId)?.thread ?? null;
  }

  /** The frame of the panel and the tab that is shown, at once. A later load wins. */
  async load(tab: TabName): Promise<void> {
    this.#latest += 1;
    const ours = this.#latest;
    const { rest } = this.#session.client;
    try {
      const [panel, content, thread] = await Promise.all([
        rest.panel(this.threadId),
        this.#tab(tab),
        this.#thread(),
      ]);
      if (ours !== this.#latest) return;
      // What the other tabs have may be old by now; it is shown until theirs is loaded.
      this.now.tabs = { ...this.now.tabs, ...content };
      Object.assign(this.now, { panel, thread, error: null });
    } catch (error) {
      if (ours !== this.#latest) return;
      this.now.error = error;
    }
    this.#changed();
  }

  async #tab(tab: TabName): Promise<Partial<PanelTabs>> {
    if (!isFetched(tab)) return {};
    return { [tab]: await this.#session.client.rest.panelTab(this.threadId, tab) };
  }

  /** For the names of its people. */
  async #thread(): Promise<Thread> {
    const { state, rest } = this.#session.client;
    const known = state.threads.get(this.threadId)?.thread;
    return known ?? (await rest.thread(this.threadId)).thread;
  }
}

const FETCHED: readonly TabName[] = ['actions', 'docs', 'expenses', 'files'];

function isFetched(tab: TabName): tab is keyof PanelTabs {
  return FETCHED.includes(tab);
}
