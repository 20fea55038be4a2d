/** Brings files to the server: two at a time, large ones in parts, on from where they stopped. */

import { backoffMs } from './backoff.js';
import { type Clock, Nap } from './environment.js';
import type { Files } from './files.js';
import { Problem, type ProblemDocument } from './problem.js';
import { type Put, putBlob, type SignedRequest } from './put.js';
import type { NewUpload, Purpose, StoredFile, UploadTicket } from './types.js';
import { memoryUploads, type UploadStorage } from './upload_storage.js';

export const UPLOADS_AT_ONCE = 2;
/** More than one part: a bad network then loses no more than one. */
const PART_BYTES = 5 * 1024 * 1024;
/** A signature may be too old or bytes may be missing; more often than this, it is something else. */
const MOST_REFUSALS = 4;
/** Whoever has to wait longer than this is told so. */
const LONGEST_WAIT_MS = 60_000;

export type UploadState =
  | 'waiting'
  | 'uploading'
  | 'paused'
  /** All bytes are there. */
  | 'finishing'
  | 'done'
  | 'failed';

export interface Upload {
  /** Of this browser's own making. */
  readonly id: string;
  readonly threadId: string;
  readonly name: string;
  readonly mime: string;
  readonly bytes: number;
  readonly purpose: Purpose;
  /** A text across the previews of a proof. */
  readonly watermark?: string;
  readonly hints?: FileHints;
  readonly queuedAtMs: number;
  readonly state: UploadState;
  readonly sentBytes: number;
  /** The server's id, once it knows of the upload. */
  readonly fileId: string | null;
  /** What the page wants to find again, such as the size of a picture. */
  readonly about: Readonly<Record<string, unknown>>;
  /** How often the server has forgotten it, so that it had to begin anew. */
  readonly beginnings: number;
  readonly problem?: ProblemDocument;
  /** The file right after its upload; news of it come by the feed. */
  readonly file?: StoredFile;
}

/** What this device knows of the content, for everybody until the server has measured it. */
export type FileHints = Pick<NewUpload, 'width' | 'height' | 'duration_ms' | 'peaks'>;

export interface NewFile {
  name: string;
  mime: string;
  purpose?: Purpose;
  watermark?: string;
  hints?: FileHints;
  about?: Record<string, unknown>;
}

export interface UploadLinks {
  files: Pick<
    Files,
    'addressOf' | 'beginUpload' | 'upload' | 'completeUpload' | 'cancelUpload' | 'get'
  >;
  clock: Clock;
  random: () => number;
  randomId: () => string;
  /** Called for every change; one that is gone is told with `isGone`. */
  changed(upload: Upload, isGone: boolean): void;
  storage?: UploadStorage;
  put?: Put;
  sha256?: (blob: Blob) => Promise<string | undefined>;
  partBytes?: () => number | undefined;
}

interface Job {
  upload: Upload;
  blob: Blob;
  stop: AbortController | null;
  nap: Nap;
  failures: number;
  refusals: number;
  /** What the feed has told of its file. */
  learned?: StoredFile;
}

/** As the server answers to a send with such a file. */
const REFUSED: ProblemDocument = {
  status: 409,
  code: 'UPLOAD_QUARANTINED',
  title: 'This file cannot be sent',
};

export class Uploads {
  readonly #links: UploadLinks;
  readonly #storage: UploadStorage;
  readonly #jobs = new Map<string, Job>();

  constructor(links: UploadLinks) {
    this.#links = links;
    this.#storage = links.storage ?? memoryUploads();
  }

  /** In the order in which they were added. */
  list(threadId?: string): Upload[] {
    const uploads = [...this.#jobs.values()].map(({ upload }) => upload);
    return uploads.filter((each) => threadId === undefined || each.threadId === threadId);
  }

  find(id: string): Upload | undefined {
    return this.#jobs.get(id)?.upload;
  }

  blobOf(id: string): Blob | undefined {
    return this.#jobs.get(id)?.blob;
  }

  /** What an earlier page left. What was under way stands still until somebody resumes it. */
  async restore(): Promise<void> {
    for (const { upload, blob } of await this.#storage.list()) {
      if (this.#jobs.has(upload.id)) continue;
      const isOver = upload.state === 'done' || upload.state === 'failed';
      this.#take(isOver ? upload : { ...upload, state: 'paused' }, blob);
    }
  }

  add(threadId: string, blob: Blob, about: NewFile): Upload {
    const upload: Upload = {
      id: this.#links.randomId(),
      threadId,
      name: about.name,
      mime: about.mime,
      bytes: blob.size,
      purpose: about.purpose ?? 'attachment',
      ...(about.watermark ? { watermark: about.watermark } : {}),
      ...(about.hints ? { hints: about.hints } : {}),
      queuedAtMs: this.#links.clock.now(),
      state: 'waiting',
      sentBytes: 0,
      fileId: null,
      about: about.about ?? {},
      beginnings: 0,
    };
    const job = this.#take(upload, blob);
    this.#keep(job);
    this.#pump();
    return upload;
  }

  pause(id: string): void {
    const job = this.#jobs.get(id);
    if (!job || !['waiting', 'uploading'].includes(job.upload.state)) return;
    job.stop?.abort();
    this.#become(job, { state: 'paused' });
    this.#pump();
  }

  /** One that was paused, failed or left by an earlier page. */
  resume(id: string): void {
    const job = this.#jobs.get(id);
    if (!job || !['paused', 'failed'].includes(job.upload.state)) return;
    job.failures = job.refusals = 0;
    const { problem: _, ...upload } = job.upload;
    job.upload = upload;
    this.#become(job, { state: 'waiting' });
    this.#pump();
  }

  /** The server has looked at the file, and tells what it has found. */
  learn(file: StoredFile): void {
    const job = [...this.#jobs.values()].find(({ upload }) => upload.fileId === file.id);
    if (!job) return;
    // The news can be here before the answer that ends the upload.
    job.learned = file;
    if (job.upload.state === 'done') this.#end(job, file);
  }

  #end(job: Job, file: StoredFile): void {
    const isRefused = file.state === 'refused' || file.state === 'quarantined';
    if (isRefused) this.#become(job, { state: 'failed', file, problem: REFUSED });
    else this.#become(job, { state: 'done', file, sentBytes: file.bytes });
  }

  /** The network is back: nobody waits any longer. */
  retryNow(): void {
    for (const { nap } of this.#jobs.values()) nap.wake();
  }

  /** The person does not want it: nothing of it stays, here or there. */
  async cancel(id: string): Promise<void> {
    const fileId = this.#jobs.get(id)?.upload.fileId;
    await this.forget(id);
    // What the server does not hear of it sweeps itself.
    if (fileId) await this.#links.files.cancelUpload(fileId).catch(() => {});
  }

  /** It is in a message now, or its page does not need it any more. */
  async forget(id: string): Promise<void> {
    const job = this.#jobs.get(id);
    if (!job) return;
    job.stop?.abort();
    this.#jobs.delete(id);
    this.#links.changed(job.upload, true);
    this.#pump();
    await this.#storage.remove(id).catch(() => {});
  }

  /** Keeps something more about it, such as its alternative text. */
  note(id: string, about: Record<string, unknown>): void {
    const job = this.#jobs.get(id);
    if (job) this.#become(job, { about: { ...job.upload.about, ...about } });
  }

  #take(upload: Upload, blob: Blob): Job {
    const nap = new Nap(this.#links.clock);
    const job: Job = { upload, blob, stop: null, nap, failures: 0, refusals: 0 };
    this.#jobs.set(upload.id, job);
    this.#links.changed(upload, false);
    return job;
  }

  #pump(): void {
    let busy = [...this.#jobs.values()].filter(({ stop }) => stop !== null).length;
    for (const job of this.#jobs.values()) {
      if (busy >= UPLOADS_AT_ONCE) return;
      if (job.upload.state !== 'waiting' || job.stop) continue;
      busy += 1;
      void this.#run(job);
    }
  }

  async #run(job: Job): Promise<void> {
    const stop = new AbortController();
    job.stop = stop;
    this.#become(job, { state: 'uploading' });
    while (!stop.signal.aborted) {
      try {
        const file = await this.#attempt(job, stop.signal);
        if (!stop.signal.aborted) this.#end(job, job.learned ?? file);
        break;
      } catch (error) {
        if (stop.signal.aborted) break;
        const waitMs = this.#waitAfter(job, Problem.of(error));
        if (waitMs === null) break;
        await job.nap.sleep(waitMs, stop.signal);
      }
    }
    if (job.stop === stop) job.stop = null;
    this.#pump();
  }

  /** From wherever it stands to the end. */
  async #attempt(job: Job, signal: AbortSignal): Promise<StoredFile> {
    const { files } = this.#links;
    const isKnown = job.upload.fileId !== null;
    const ticket = await (isKnown ? this.#comeBack(job, signal) : this.#begin(job, signal));
    if ('state' in ticket) return ticket;
    await this.#putAll(job, ticket, signal);
    this.#become(job, { state: 'finishing', sentBytes: job.blob.size });
    return files.completeUpload(ticket.id, signal);
  }

  async #begin(job: Job, signal: AbortSignal): Promise<UploadTicket> {
    const { upload, blob } = job;
    const hash = await (this.#links.sha256 ?? sha256Of)(blob);
    const ticket = await this.#links.files.beginUpload(
      {
        thread_id: upload.threadId,
        name: upload.name,
        mime: upload.mime,
        bytes: blob.size,
        purpose: upload.purpose,
        parts: blob.size > (this.#links.partBytes?.() ?? PART_BYTES),
        ...(hash === undefined ? {} : { sha256: hash }),
        ...(upload.watermark ? { watermark: upload.watermark } : {}),
        ...upload.hints,
      },
      // An answer that was lost is given again; one that the server has forgotten is not.
      `${upload.id}.${upload.beginnings}`,
      signal,
    );
    this.#become(job, { fileId: ticket.id });
    return ticket;
  }

  /** Fresh signatures; the file itself where the upload was completed and only the answer got lost. */
  async #comeBack(job: Job, signal: AbortSignal): Promise<UploadTicket | StoredFile> {
    const { files } = this.#links;
    const fileId = job.upload.fileId ?? '';
    this.#become(job, { state: 'uploading' });
    try {
      return await files.upload(fileId, signal);
    } catch (error) {
      if (Problem.of(error).isTransient) throw error;
      const file = await files.get(fileId).catch(() => null);
      if (file && file.state !== 'uploading') return file;
      this.#become(job, { fileId: null, beginnings: job.upload.beginnings + 1, sentBytes: 0 });
      return this.#begin(job, signal);
    }
  }

  async #putAll(job: Job, ticket: UploadTicket, signal: AbortSignal): Promise<void> {
    const { put = putBlob } = this.#links;
    let doneBytes = 0;
    for (const { request, start, stop, isThere } of piecesOf(ticket, job.blob.size)) {
      const begunBytes = doneBytes;
      const progress = (bytes: number): void => {
        if (!signal.aborted)
          this.#tell(job, { sentBytes: begunBytes + Math.min(bytes, stop - start) });
      };
      progress(0);
      if (!isThere) {
        const { method, headers } = request;
        const signed = { method, headers, url: this.#links.files.addressOf(request.url) };
        await put(signed, job.blob.slice(start, stop, job.upload.mime), { signal, progress });
        job.failures = 0;
      }
      doneBytes += stop - start;
    }
  }

  /** How long to wait before the next attempt; null where there is none. */
  #waitAfter(job: Job, problem: Problem): number | null {
    const isStale = STALE.has(problem.status) && job.upload.fileId !== null;
    if (isStale) job.refusals += 1;
    const goesOn = problem.isTransient || (isStale && job.refusals < MOST_REFUSALS);
    if (!goesOn || problem.retryAfterMs > LONGEST_WAIT_MS) {
      this.#become(job, { state: 'failed', problem: problem.document });
      return null;
    }
    this.#become(job, { state: 'uploading' });
    const waitMs = backoffMs(job.failures, this.#links.random);
    job.failures += 1;
    return Math.max(waitMs, problem.retryAfterMs);
  }

  /** A change that the next page should know of. */
  #become(job: Job, change: Partial<Upload>): void {
    this.#tell(job, change);
    this.#keep(job);
  }

  #tell(job: Job, change: Partial<Upload>): void {
    job.upload = { ...job.upload, ...change };
    if (this.#jobs.get(job.upload.id) === job) this.#links.changed(job.upload, false);
  }

  /** A browser that stores nothing uploads all the same. */
  #keep(job: Job): void {
    if (this.#jobs.get(job.upload.id) !== job) return;
    this.#storage.keep(job.upload, job.blob).catch(() => {});
  }
}

/** A signature that ended, bytes that did not arrive, or an upload that is not known any more. */
const STALE = new Set([400, 403, 404, 409, 410, 412, 422]);

interface Piece {
  request: SignedRequest;
  start: number;
  stop: number;
  isThere: boolean;
}

export function piecesOf(ticket: UploadTicket, bytes: number): Piece[] {
  const { parts, received } = ticket;
  if (!parts) return [{ request: ticket, start: 0, stop: bytes, isThere: received }];
  let start = 0;
  return [...parts]
    .sort((one, other) => one.number - other.number)
    .map((part) => {
      const piece = { request: part, start, stop: start + part.bytes, isThere: part.received };
      start += part.bytes;
      return piece;
    });
}

/** Undefined where the page is not served securely and the browser does not compute it. */
export async function sha256Of(blob: Blob): Promise<string | undefined> {
  if (!globalThis.crypto?.subtle) return undefined;
  const digest = await crypto.subtle.digest('SHA-256', await blob.arrayBuffer());
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
