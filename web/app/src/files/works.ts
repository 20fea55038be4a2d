/** The files of a session: calls, uploads that go on behind the pages, and local previews. */

import {
  browserUploads,
  Files,
  type NewFile,
  type Send,
  type SendFile,
  type Upload,
  Uploads,
} from '@greenroom/sdk';

import type { Session } from '../session/session.ts';

/** What this device has of a file, shown until the server has made its own of it. */
export interface Local {
  readonly url: string;
  readonly width: number | null;
  readonly height: number | null;
}

export interface VoiceHints {
  readonly duration_ms: number;
  readonly peaks: number[];
}

/** The first of them are let go; the server has made its own by then. */
const MOST_LOCALS = 60;
/** A browser that cannot show a video may also never say so. */
const LONGEST_LOOK_MS = 1000;

export class FileWorks {
  readonly files: Files;
  readonly uploads: Uploads;
  /** Left by an earlier page, and nobody has said what is to become of them. */
  readonly leftover = new Set<string>();
  readonly restored: Promise<void>;
  readonly #session: Session;
  readonly #listeners = new Set<() => void>();
  /** By upload and by file. */
  readonly #locals = new Map<string, Local>();

  constructor(session: Session) {
    const { client, clock, userId } = session;
    this.#session = session;
    this.files = new Files(client);
    this.uploads = new Uploads({
      files: this.files,
      clock,
      random: Math.random,
      randomId: newId,
      storage: browserUploads(userId),
      partBytes: () => client.limits?.part_bytes,
      changed: (upload, isGone) => this.#changed(upload, isGone),
    });
    client.on('send', (send) => this.#follow(send));
    // What is in a message already shows there what has become of it.
    client.on('file', (file) => {
      const waiting = this.tray(file.thread_id ?? '');
      if (waiting.some(({ fileId }) => fileId === file.id)) this.uploads.learn(file);
    });
    client.on('connection', ({ state }) => {
      if (state === 'live' || state === 'polling') this.uploads.retryNow();
    });
    addEventListener('online', () => this.uploads.retryNow());
    this.restored = this.#restore().catch(() => {});
  }

  /** Returns how to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Those that the composer of a thread shows, in the person's order. */
  tray(threadId: string): Upload[] {
    const sending = new Set(
      this.#session.client.sends(threadId).flatMap(({ files = [] }) => uploadIds(files)),
    );
    return this.uploads
      .list(threadId)
      .filter(({ id, purpose }) => purpose === 'attachment' && !sending.has(id))
      .sort((one, other) => placeOf(one) - placeOf(other));
  }

  /** Begins the upload at once: while somebody writes the words to it, it is on its way. */
  async add(threadId: string, file: File): Promise<void> {
    const url = URL.createObjectURL(file);
    const size = await sizeOf(file, url);
    this.#upload(threadId, file, url, {
      name: file.name || 'file',
      mime: file.type || 'application/octet-stream',
      ...(size.width && size.height ? { hints: size } : {}),
      about: { ...size, place: this.#session.clock.now() },
    });
  }

  addVoice(threadId: string, blob: Blob, name: string, hints: VoiceHints): SendFile {
    const mime = blob.type.split(';')[0] || 'audio/webm';
    const ending = mime.split('/')[1] ?? 'webm';
    const url = URL.createObjectURL(blob);
    const named = { name: `${name}.${ending}`, mime, purpose: 'voice' } as const;
    const upload = this.#upload(threadId, blob, url, { ...named, hints, about: { ...hints } });
    return { uploadId: upload.id };
  }

  /** For a field of a card's form. */
  addFor(threadId: string, file: Blob, about: Omit<NewFile, 'about'>): Upload {
    return this.#upload(threadId, file, URL.createObjectURL(file), { ...about, about: {} });
  }

  #upload(threadId: string, blob: Blob, url: string, about: NewFile): Upload {
    const upload = this.uploads.add(threadId, blob, about);
    const { width = null, height = null } = about.about as Partial<Local>;
    this.#remember(upload.id, { url, width, height });
    this.#tell();
    return upload;
  }

  localOf(id: string | null | undefined): Local | null {
    return (id && this.#locals.get(id)) || null;
  }

  reorder(uploads: readonly Upload[]): void {
    uploads.forEach(({ id }, place) => this.uploads.note(id, { place }));
  }

  /** The ones of a send that was given up. */
  cancel(files: readonly SendFile[] = []): void {
    for (const id of uploadIds(files)) void this.uploads.cancel(id);
  }

  async #restore(): Promise<void> {
    await this.uploads.restore();
    for (const upload of this.uploads.list()) {
      const blob = this.uploads.blobOf(upload.id);
      const { width = null, height = null } = upload.about as Partial<Local>;
      if (blob) this.#remember(upload.id, { url: URL.createObjectURL(blob), width, height });
      if (upload.fileId) this.#share(upload.id, upload.fileId);
      this.leftover.add(upload.id);
    }
    for (const send of this.#session.client.sends()) this.#follow(send);
    this.#tell();
  }

  /** A send needs its uploads, whatever page began them. */
  #follow({ state, files = [] }: Send): void {
    if (state === 'sent') for (const id of uploadIds(files)) void this.uploads.forget(id);
    if (state !== 'queued') return;
    for (const { uploadId, fileId } of files) {
      if (uploadId === undefined || fileId !== undefined) continue;
      this.leftover.delete(uploadId);
      const upload = this.uploads.find(uploadId);
      if (!upload) void this.restored.then(() => this.#miss(uploadId));
      else if (upload.file) this.#session.client.uploaded(uploadId, upload.file.id);
      else this.uploads.resume(uploadId);
    }
  }

  #miss(uploadId: string): void {
    if (this.uploads.find(uploadId)) return;
    const problem = { status: 0, code: 'UPLOAD_LOST', title: 'The file is no longer here' };
    this.#session.client.uploadFailed(uploadId, problem);
  }

  #changed(upload: Upload, isGone: boolean): void {
    const { client } = this.#session;
    const { id, file, fileId, problem, state } = upload;
    if (fileId) this.#share(id, fileId);
    if (isGone) this.leftover.delete(id);
    else if (state === 'done' && file) void this.#finished(upload, file.id);
    else if (state === 'failed' && problem) client.uploadFailed(id, problem);
    this.#tell();
  }

  async #finished({ id, about }: Upload, fileId: string): Promise<void> {
    const alt = about['alt'];
    if (typeof alt === 'string' && alt) await this.files.describe(fileId, alt).catch(() => {});
    this.#session.client.uploaded(id, fileId);
  }

  #share(uploadId: string, fileId: string): void {
    const local = this.#locals.get(uploadId);
    if (local && !this.#locals.has(fileId)) this.#remember(fileId, local);
  }

  #remember(id: string, local: Local): void {
    this.#locals.set(id, local);
    const [oldest] = this.#locals.keys();
    if (this.#locals.size > MOST_LOCALS && oldest) this.#locals.delete(oldest);
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

const known = new WeakMap<Session, FileWorks>();

export function fileWorks(session: Session): FileWorks {
  const works = known.get(session) ?? new FileWorks(session);
  known.set(session, works);
  return works;
}

/** The person logs out: nothing of theirs stays. */
export async function clearUploads(userId: string): Promise<void> {
  await browserUploads(userId).clear();
}

function uploadIds(files: readonly SendFile[]): string[] {
  return files.flatMap(({ uploadId }) => uploadId ?? []);
}

function placeOf({ about, queuedAtMs }: Upload): number {
  return typeof about['place'] === 'number' ? about['place'] : queuedAtMs;
}

function newId(): string {
  return [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(36)).join('');
}

/** Of a picture or video that this browser can show, so that its place is right from the start. */
async function sizeOf(file: File, url: string): Promise<Pick<Local, 'width' | 'height'>> {
  const unknown = { width: null, height: null };
  if (file.type.startsWith('video/')) {
    const video = document.createElement('video');
    video.preload = 'metadata';
    video.src = url;
    await new Promise((resolve) => {
      video.onloadedmetadata = video.onerror = resolve;
      setTimeout(resolve, LONGEST_LOOK_MS);
    });
    return video.videoWidth ? { width: video.videoWidth, height: video.videoHeight } : unknown;
  }
  if (file.type.startsWith('image/')) {
    const picture = new Image();
    picture.src = url;
    await picture.decode().catch(() => {});
    return picture.naturalWidth
      ? { width: picture.naturalWidth, height: picture.naturalHeight }
      : unknown;
  }
  return unknown;
}
