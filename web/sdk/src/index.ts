export { followPage } from './browser.js';
export { Greenroom } from './client.js';
export type { Connected, ConnectionState } from './connection.js';
export {
  type Clock,
  type Environment,
  type Socket,
  type SocketConstructor,
  systemClock,
} from './environment.js';
export { Files, type FilesClient } from './files.js';
export type { Names, Options, Sending } from './options.js';
export type { Visibility } from './poll_interval.js';
export { Problem, type ProblemDocument } from './problem.js';
export type { Put, Putting, SignedRequest } from './put.js';
export type { Send, SendFile, SendState } from './queue.js';
export type { PanelTabs, Presence, Rest } from './rest.js';
export {
  applyEvent,
  EMPTY,
  inboxRows,
  type Marks,
  progressOf,
  type State,
  type ThreadState,
} from './state.js';
export { browserStorage, localStorageAdapter, memoryStorage, type Storage } from './storage.js';
export { readClaims, type TokenSource } from './tokens.js';
export type { TransportName } from './transports/transport.js';
export {
  browserUploads,
  type KeptUpload,
  memoryUploads,
  type UploadStorage,
} from './upload_storage.js';
export {
  type FileHints,
  type NewFile,
  sha256Of,
  type Upload,
  Uploads,
  type UploadState,
} from './uploads.js';
export type * from './types.js';
