import { plurals } from '../plural.ts';

const plural = plurals('en');

/** Why the server does not show a file, for its owner. */
const reasons: Record<string, string> = {
  virus: 'A virus was found in it.',
  damaged: 'It is damaged and cannot be opened.',
  type_mismatch: 'Its content is not what its name says.',
  unsupported: 'Files of this kind cannot be sent.',
  too_large: 'It is too large.',
  too_many_pixels: 'The picture has too many pixels.',
  too_long: 'It is too long.',
  not_scanned: 'It could not be checked for viruses.',
  empty: 'It is empty.',
};

/** Why an upload failed, by the server's code. */
const problems: Record<string, string> = {
  ATTACHMENT_TOO_LARGE: 'Too large',
  UNSUPPORTED_TYPE: 'This kind of file cannot be sent',
  UPLOAD_QUARANTINED: 'Held back by a check',
  RATE_LIMITED: 'Too many uploads. Try again later',
  THREAD_NOT_FOUND: 'You are no longer in this conversation',
  UPLOAD_LOST: 'The file is no longer on this device',
};

export const files = {
  reasons,
  problems,

  attach: 'Attach files',
  choosePhotos: 'Photos and videos',
  takePhoto: 'Take a photo',
  chooseFile: 'File',
  recordVoice: 'Record a voice message',
  tray: 'Files to send',
  added: (count: number) =>
    plural(count, { one: '1 file attached', other: `${count} files attached` }),
  tooLarge: (name: string, most: string) => `${name} is larger than ${most}.`,
  isEmpty: (name: string) => `${name} is empty.`,
  tooMany: (most: number) => `A message takes at most ${most} files.`,

  leftover: (count: number) =>
    plural(count, {
      one: '1 file from last time is not sent yet.',
      other: `${count} files from last time are not sent yet.`,
    }),
  goOn: 'Continue',
  dismiss: 'Remove',

  remove: (name: string) => `Remove ${name}`,
  pause: (name: string) => `Pause ${name}`,
  resume: (name: string) => `Continue ${name}`,
  retry: (name: string) => `Try ${name} again`,
  moveHint: 'Arrow keys move it, Delete removes it.',
  place: (place: number, count: number) => `${place} of ${count}`,
  movedTo: (name: string, place: number, count: number) => `${name}: ${place} of ${count}`,
  waiting: 'Waiting',
  uploading: (percent: string) => `${percent} uploaded`,
  sendWithout: (count: number) =>
    plural(count, { one: 'Send without it', other: 'Send without them' }),
  paused: 'Paused',
  finishing: 'Almost there',
  done: 'Uploaded',
  failed: 'Upload failed',
  describe: 'Describe',
  described: 'Described',
  describeHeading: 'What does the picture show?',
  describeHint: 'For people who listen to their messages instead of seeing them. It is optional.',
  describeLabel: 'Description',
  saveDescription: 'Save',

  photo: 'Photo',
  video: 'Video',
  photoOf: (index: number, count: number) => `Photo ${index} of ${count}`,
  open: (what: string) => `Open ${what}`,
  download: (name: string) => `Download ${name}`,
  downloadShort: 'Download',
  processing: 'Being prepared…',
  sensitive: 'This may be sensitive',
  show: 'Show',
  showNamed: (name: string) => `Show ${name}`,
  hidden: 'Hidden by Safe-Mode',
  quarantined: 'This file is held back until somebody has checked it.',
  refused: 'This file could not be sent.',
  withheld: 'This file is not available.',
  expired: 'This file has expired.',
  unavailable: 'It could not be loaded.',

  viewer: 'Pictures',
  previous: 'Previous picture',
  next: 'Next picture',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  close: 'Close',

  play: 'Play',
  pausePlaying: 'Pause',
  position: 'Position',
  speed: (rate: string) => `Speed ${rate}`,
  voiceMessage: (length: string) => `Voice message, ${length}`,

  recording: 'Recording',
  stopAndSend: 'Send voice message',
  stopAndDiscard: 'Discard recording',
  noMicrophone: 'The microphone cannot be used. Allow it in your browser, then try again.',
  recordingEnds: (length: string) => `Ends in ${length}`,
  voiceName: 'Voice message',

  preferences: 'Preferences',
  safeMode: 'Safe-Mode',
  safeModeHint:
    'Pictures that may be sensitive are blurred until you tap them, and explicit ones are hidden. Some conversations always have it on.',
  saved: 'Saved',

  proofs: 'Proofs',
  proofOf: (index: number, count: number) => `Proof ${index} of ${count}`,
  choose: (name: string) => `Choose ${name}`,
  chosen: 'Chosen',
  chosenCount: (count: number) => plural(count, { one: '1 chosen', other: `${count} chosen` }),
  noteOn: (name: string) => `${name}: what should change`,
  noteHint: 'What should change in this one',
  notes: 'Asked for in single pictures',
  hasNote: 'With a note',
  addProofs: 'Add pictures',
  addReceipt: 'Add a receipt',
  replaceReceipt: 'Replace the receipt',
  noProofs: 'Add at least one picture.',

  more: 'Show more',
};
