/** The calls about files. A part of its own, so that a page can load it with the first file. */

import type { Http, Request } from './http.js';
import type {
  FilesPage,
  Media,
  NewUpload,
  PageQuery,
  Rendition,
  StoredFile,
  UploadTicket,
} from './types.js';

/** As much of a client as this takes. */
export interface FilesClient {
  readonly url: string;
  request: Http['call'];
  /** A file as it is now: what shows it is drawn anew. */
  learn(file: StoredFile): void;
}

/** What the server itself keeps; in S3 files have addresses of S3. */
const OWN = '/blobs/';

export class Files {
  readonly #client: FilesClient;
  readonly #reached = new WeakMap<StoredFile, StoredFile>();

  constructor(client: FilesClient) {
    this.#client = client;
  }

  /** The server names itself as it knows itself; this page may reach it by another name. What the
   * server signs holds for any of them. */
  addressOf(url: string): string {
    const { pathname, search, href } = new URL(url, this.#client.url);
    return pathname.startsWith(OWN) ? this.#client.url + pathname + search : href;
  }

  /** The file with addresses that this page reaches; the same object for the same file. */
  reached(file: StoredFile): StoredFile {
    const renditions = (): Rendition[] =>
      file.renditions.map((each) => ({ ...each, url: this.addressOf(each.url) }));
    const found = this.#reached.get(file) ?? { ...file, renditions: renditions() };
    this.#reached.set(file, found);
    return found;
  }

  /** The file as the person may see it now, with addresses that work for some minutes. */
  async get(fileId: string): Promise<StoredFile> {
    return this.#learned(await this.#client.request('GET', filePath(fileId)));
  }

  /** Shows the person what Safe-Mode has blurred. The server remembers it. */
  async reveal(fileId: string): Promise<StoredFile> {
    return this.#learned(await this.#client.request('POST', filePath(fileId, '/reveal')));
  }

  /** What the picture shows, for those who do not see it; only its owner may say so. */
  async describe(fileId: string, alt: string): Promise<StoredFile> {
    return this.#learned(await this.#client.request('PATCH', filePath(fileId), { body: { alt } }));
  }

  /** The files of a thread that the person may see, the newest first. */
  list(threadId: string, query: PageQuery & { kind?: Media } = {}): Promise<FilesPage> {
    const path = `/v1/threads/${encodeURIComponent(threadId)}/files`;
    return this.#client.request('GET', path, { query });
  }

  /** The same key again is the same upload. */
  beginUpload(body: NewUpload, key: string, signal?: AbortSignal): Promise<UploadTicket> {
    return this.#upload('POST', '/v1/uploads', { body, idempotencyKey: key, ...signed(signal) });
  }

  /** What has arrived, and fresh signatures for the rest. */
  upload(fileId: string, signal?: AbortSignal): Promise<UploadTicket> {
    return this.#upload('GET', uploadPath(fileId), signed(signal));
  }

  /** All bytes are there. A repeat answers with the file as it is now. */
  async completeUpload(fileId: string, signal?: AbortSignal): Promise<StoredFile> {
    const path = uploadPath(fileId, '/complete');
    const answer = await this.#client.request<{ file: StoredFile }>('POST', path, signed(signal));
    return answer.file;
  }

  cancelUpload(fileId: string): Promise<void> {
    return this.#client.request('DELETE', uploadPath(fileId));
  }

  async #upload(method: string, path: string, request: Request): Promise<UploadTicket> {
    return (await this.#client.request<{ upload: UploadTicket }>(method, path, request)).upload;
  }

  #learned({ file }: { file: StoredFile }): StoredFile {
    this.#client.learn(file);
    return file;
  }
}

function signed(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}

function filePath(fileId: string, rest = ''): string {
  return `/v1/files/${encodeURIComponent(fileId)}${rest}`;
}

function uploadPath(fileId: string, rest = ''): string {
  return `/v1/uploads/${encodeURIComponent(fileId)}${rest}`;
}
