/** Where unfinished uploads outlive the page, with their bytes. */

import type { Upload } from './uploads.js';

export interface KeptUpload {
  upload: Upload;
  blob: Blob;
}

export interface UploadStorage {
  list(): Promise<KeptUpload[]>;
  keep(upload: Upload, blob: Blob): Promise<void>;
  remove(id: string): Promise<void>;
  /** The person logs out. */
  clear(): Promise<void>;
}

export function memoryUploads(): UploadStorage {
  const kept = new Map<string, KeptUpload>();
  const done = Promise.resolve();
  return {
    list: () => Promise.resolve([...kept.values()]),
    keep: (upload, blob) => {
      kept.set(upload.id, { upload, blob });
      return done;
    },
    remove: (id) => {
      kept.delete(id);
      return done;
    },
    clear: () => {
      kept.clear();
      return done;
    },
  };
}

const DATABASE = 'greenroom-uploads';
/** The bytes apart from the rest, since they never change. */
const UPLOADS = 'uploads';
const BYTES = 'bytes';
/** What nobody came back for. */
const KEPT_MS = 3 * 24 * 3_600_000;

type Release = () => void;

/** IndexedDB takes bytes as they are. Each upload belongs to the page that holds its Web Lock; the
 * next page takes up what a closed one left. */
export function browserUploads(user: string, nowMs: () => number = Date.now): UploadStorage {
  let opened: Promise<IDBDatabase> | null = null;
  const held = new Map<string, Release>();
  // Whoever uses the same browser next has another name and sees nothing of it.
  const keyOf = (id: string): string => `${user}\n${id}`;
  const own = IDBKeyRange.bound(keyOf(''), keyOf('\uffff'));
  const run = async <T>(
    name: string,
    mode: IDBTransactionMode,
    ask: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> => {
    opened ??= open(() => (opened = null));
    opened.catch(() => (opened = null));
    return answerTo(ask((await opened).transaction(name, mode).objectStore(name)));
  };
  const erase = async (which: IDBKeyRange | string): Promise<void> => {
    for (const name of [UPLOADS, BYTES]) {
      await run(name, 'readwrite', (store) => store.delete(which));
    }
  };
  return {
    list: async () => {
      const uploads = await run(
        UPLOADS,
        'readonly',
        (store) => store.getAll(own) as IDBRequest<Upload[]>,
      );
      const kept: KeptUpload[] = [];
      for (const upload of uploads.sort(byAge)) {
        const key = keyOf(upload.id);
        const release = held.has(upload.id) ? null : await hold(key);
        if (!release) continue;
        const blob = await run(
          BYTES,
          'readonly',
          (store) => store.get(key) as IDBRequest<Blob | undefined>,
        );
        if (blob && upload.queuedAtMs >= nowMs() - KEPT_MS) kept.push({ upload, blob });
        else await erase(key);
        held.set(upload.id, release);
      }
      return kept;
    },
    keep: async (upload, blob) => {
      const key = keyOf(upload.id);
      if (!held.has(upload.id)) {
        held.set(upload.id, () => {});
        held.set(upload.id, (await hold(key)) ?? (() => {}));
        await run(BYTES, 'readwrite', (store) => store.put(blob, key));
      }
      await run(UPLOADS, 'readwrite', (store) => store.put(upload, key));
    },
    remove: async (id) => {
      await erase(keyOf(id));
      held.get(id)?.();
      held.delete(id);
    },
    clear: async () => {
      // To open what is not there would make it.
      const there = (await indexedDB.databases?.()) ?? [{ name: DATABASE }];
      if (!there.some(({ name }) => name === DATABASE)) return;
      await erase(own);
      if ((await run(UPLOADS, 'readonly', (store) => store.count())) > 0) return;
      (await opened)?.close();
      opened = null;
      indexedDB.deleteDatabase(DATABASE);
    },
  };
}

function byAge(one: Upload, other: Upload): number {
  return one.queuedAtMs - other.queuedAtMs;
}

/** Null while another page has it. */
function hold(name: string): Promise<Release | null> {
  return new Promise((resolve, reject) => {
    const held = navigator.locks.request(
      `greenroom-upload ${name}`,
      { ifAvailable: true },
      (lock) => (lock ? new Promise<void>((release) => resolve(release)) : resolve(null)),
    );
    held.catch(reject);
  });
}

/** `closed` is called when another page wants to delete it: whoever needs it opens it again. */
async function open(closed: () => void): Promise<IDBDatabase> {
  const asked = indexedDB.open(DATABASE, 1);
  asked.onupgradeneeded = () => {
    asked.result.createObjectStore(UPLOADS);
    asked.result.createObjectStore(BYTES);
  };
  const database = await answerTo(asked);
  database.onversionchange = () => {
    database.close();
    closed();
  };
  return database;
}

function answerTo<T>(asked: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error ?? new Error('The browser stores nothing'));
  });
}
