/** Where sends, the position in the feed and the last messages outlive the page. */

type Eventually<T> = T | Promise<T>;

/** One client writes to a storage at a time; see `browserStorage` for several tabs. */
export interface Storage {
  get(key: string): Eventually<string | null>;
  set(key: string, text: string): Eventually<void>;
  remove(key: string): Eventually<void>;
}

export function memoryStorage(): Storage {
  const kept = new Map<string, string>();
  return {
    get: (key) => kept.get(key) ?? null,
    set: (key, text) => void kept.set(key, text),
    remove: (key) => void kept.delete(key),
  };
}

interface WebStorage {
  getItem(key: string): string | null;
  setItem(key: string, text: string): void;
  removeItem(key: string): void;
}

export function localStorageAdapter(prefix = 'greenroom', web: WebStorage = localStorage): Storage {
  const name = (key: string): string => `${prefix}.${key}`;
  return {
    get: (key) => web.getItem(name(key)),
    set: (key, text) => web.setItem(name(key), text),
    remove: (key) => web.removeItem(name(key)),
  };
}

const MOST_TABS = 20;

/**
 * localStorage with a compartment per open tab, held by a Web Lock: two tabs that wrote into the
 * same one would mix their positions. The next tab takes up what a closed one left.
 */
export async function browserStorage(prefix = 'greenroom'): Promise<Storage> {
  for (let tab = 0; tab < MOST_TABS; tab += 1) {
    const name = `${prefix}.${tab}`;
    if (await holdForEver(name)) return localStorageAdapter(name);
  }
  return memoryStorage();
}

function holdForEver(name: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const held = navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise(() => {});
    });
    held.catch(reject);
  });
}
