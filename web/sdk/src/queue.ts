/** Sends: kept until they are answered, in order per thread, each once. */

import type { Backoff } from './backoff.js';
import type { Clock } from './environment.js';
import { Problem, type ProblemDocument } from './problem.js';
import type { Message } from './types.js';

export const MOST_SENDS = 500;
export const THREADS_AT_ONCE = 4;

export type SendState = 'queued' | 'sending' | 'sent' | 'failed';

/** A file of a send: known to the server, or still on its way there. */
export interface SendFile {
  readonly fileId?: string;
  /** Of this browser's own; `SendQueue.uploaded` tells its file. */
  readonly uploadId?: string;
  /** Why it was refused, and with it the send. */
  readonly problem?: ProblemDocument;
}

export interface Send {
  readonly clientId: string;
  readonly threadId: string;
  readonly body: string;
  readonly replyTo?: string;
  readonly files?: readonly SendFile[];
  readonly queuedAtMs: number;
  readonly state: SendState;
  /** Why it failed. */
  readonly problem?: ProblemDocument;
  /** What it became. */
  readonly message?: Message;
}

export interface QueueLinks {
  clock: Clock;
  backoff: Backoff;
  /** Resolves when the list is kept, or cannot be. */
  save(sends: readonly Send[]): Promise<void>;
  /** One attempt. The same `clientId` again is the same message. */
  attempt(send: Send): Promise<Message>;
  /** An attempt met a server that seems to be away. */
  doubt(problem: Problem): void;
  changed(send: Send): void;
}

export class SendQueue {
  readonly #links: QueueLinks;
  /** In the order of sending; what is sent leaves. */
  #sends: Send[] = [];
  #isOpen = false;
  #pausedUntilMs = 0;
  #timer: unknown = null;
  #saved: Promise<void> = Promise.resolve();

  constructor(links: QueueLinks) {
    this.#links = links;
  }

  /** Sends that wait or failed, of one thread or of all. */
  list(threadId?: string): Send[] {
    return this.#sends.filter((each) => threadId === undefined || each.threadId === threadId);
  }

  get isWaiting(): boolean {
    return this.#sends.some((each) => each.state !== 'failed');
  }

  /** What an earlier page left; its sends go first. */
  restore(sends: readonly Send[]): void {
    this.#sends = [...sends, ...this.#sends];
    for (const send of sends) this.#links.changed(send);
    this.#pump();
  }

  add(send: Send): void {
    if (this.#sends.length >= MOST_SENDS) {
      const title = `${MOST_SENDS} messages are waiting already`;
      throw new Problem({ status: 0, code: 'QUEUE_FULL', title });
    }
    this.#sends.push(send);
    this.#save();
    this.#links.changed(send);
    this.#pump();
  }

  /** The connection is up. */
  open(): void {
    this.#isOpen = true;
    this.#pump();
  }

  /** Without a connection nothing is tried: its next attempt stands for all. */
  shut(): void {
    this.#isOpen = false;
  }

  retry(clientId: string): boolean {
    const send = this.#find(clientId, 'failed');
    if (!send) return false;
    this.#again(send, send.files);
    return true;
  }

  /** Sends the rest of a message of which files were refused. Returns those; none where there is no
   * rest. */
  sendWithoutRefused(clientId: string): readonly SendFile[] {
    const send = this.#find(clientId, 'failed');
    const refused = send?.files?.filter(({ problem }) => problem) ?? [];
    const rest = send?.files?.filter(({ problem }) => !problem) ?? [];
    if (!send || refused.length === 0 || (rest.length === 0 && !send.body)) return [];
    this.#again(send, rest);
    return refused;
  }

  #again(send: Send, files: readonly SendFile[] = []): void {
    const { problem: _, files: _files, ...again } = send;
    const cleared = files.map(({ problem: _, ...file }) => file);
    const kept = cleared.length > 0 ? { files: cleared } : {};
    this.#become(send.clientId, { ...again, ...kept, state: 'queued' });
    this.#save();
    this.#pump();
  }

  /** Not while it is being sent: it may have happened. */
  discard(clientId: string): boolean {
    const send = this.#find(clientId, 'failed') ?? this.#find(clientId, 'queued');
    if (!send) return false;
    this.#sends = this.#sends.filter((each) => each !== send);
    this.#save();
    return true;
  }

  /** An upload has ended: sends that waited for it alone go. */
  uploaded(uploadId: string, fileId: string): void {
    for (const send of this.#waitingFor(uploadId)) {
      const files = send.files?.map((each) =>
        each.uploadId === uploadId ? { ...each, fileId } : each,
      );
      this.#become(send.clientId, { ...send, ...(files ? { files } : {}) });
    }
    this.#save();
    this.#pump();
  }

  /** An upload was refused, and with it the sends that waited for it. */
  uploadFailed(uploadId: string, problem: ProblemDocument): void {
    for (const send of this.#waitingFor(uploadId)) {
      if (send.state !== 'queued') continue;
      const files = send.files?.map((each) =>
        each.uploadId === uploadId ? { ...each, problem } : each,
      );
      this.#become(send.clientId, { ...send, ...(files && { files }), state: 'failed', problem });
    }
    this.#save();
  }

  /** It is a message now, by an answer or by the feed, whichever tells first. */
  settle(clientId: string, message: Message): void {
    const send = this.#sends.find((each) => each.clientId === clientId);
    if (!send) return;
    this.#sends = this.#sends.filter((each) => each !== send);
    this.#save();
    this.#links.changed({ ...send, state: 'sent', message });
    this.#pump();
  }

  #pump(): void {
    if (!this.#isOpen || this.#links.clock.now() < this.#pausedUntilMs) return;
    // After a failure one send finds out for all of them whether it works again.
    const most = this.#links.backoff.isClear ? THREADS_AT_ONCE : 1;
    let busy = this.#sends.filter((each) => each.state === 'sending').length;
    for (const send of this.#heads()) {
      if (busy >= most) return;
      if (send.state !== 'queued') continue;
      busy += 1;
      void this.#try(send);
    }
  }

  /** The first of each thread that has not failed. What waits for its files lets others pass. */
  #heads(): Send[] {
    const heads = new Map<string, Send>();
    for (const send of this.#sends) {
      const isInLine = send.state !== 'failed' && !send.files?.some(({ fileId }) => !fileId);
      if (isInLine && !heads.has(send.threadId)) heads.set(send.threadId, send);
    }
    return [...heads.values()];
  }

  #waitingFor(uploadId: string): Send[] {
    return this.#sends.filter(({ files }) =>
      files?.some((each) => each.uploadId === uploadId && !each.fileId),
    );
  }

  async #try(send: Send): Promise<void> {
    this.#become(send.clientId, { ...send, state: 'sending' });
    // Kept first: a page that dies in between sends it again under the same id.
    await this.#saved;
    try {
      const message = await this.#links.attempt(send);
      this.#links.backoff.succeeded();
      this.settle(send.clientId, message);
    } catch (error) {
      this.#failed(send, Problem.of(error));
    }
    this.#pump();
  }

  #failed(send: Send, problem: Problem): void {
    // The feed may have told meanwhile that it happened.
    if (!this.#find(send.clientId, 'sending')) return;
    if (!problem.isTransient) {
      this.#links.backoff.succeeded();
      const { document } = problem;
      const files = send.files?.map((each) =>
        document.file_id && each.fileId === document.file_id
          ? { ...each, problem: document }
          : each,
      );
      const failed = { state: 'failed', problem: document } as const;
      this.#become(send.clientId, { ...send, ...(files && { files }), ...failed });
      this.#save();
      return;
    }
    this.#become(send.clientId, { ...send, state: 'queued' });
    // The connection is gone, and will say when it is back.
    if (problem.code === 'INTERRUPTED') return this.shut();
    this.#pause(this.#links.backoff.failed(problem.retryAfterMs));
    if (problem.status === 0 || problem.status >= 500) this.#links.doubt(problem);
  }

  #pause(waitMs: number): void {
    const { clock } = this.#links;
    this.#pausedUntilMs = clock.now() + waitMs;
    clock.clearTimeout(this.#timer);
    this.#timer = clock.setTimeout(() => {
      // Timers may be early by a part of a millisecond, and nobody would come a second time.
      this.#pausedUntilMs = 0;
      this.#pump();
    }, waitMs);
  }

  #find(clientId: string, state: SendState): Send | undefined {
    return this.#sends.find((each) => each.clientId === clientId && each.state === state);
  }

  #become(clientId: string, next: Send): void {
    this.#sends = this.#sends.map((each) => (each.clientId === clientId ? next : each));
    this.#links.changed(next);
  }

  #save(): void {
    this.#saved = this.#links.save(this.#sends);
  }
}
