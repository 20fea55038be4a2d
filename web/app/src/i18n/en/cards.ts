import { plurals } from '../plural.ts';

const form = plurals('en');
const characters = (count: number): string =>
  `${count} ${form(count, { one: 'character', other: 'characters' })}`;
/** In days where it is whole days, as people agree on it. */
const notice = (hours: number): string =>
  hours % 24 === 0
    ? `${hours / 24} ${form(hours / 24, { one: 'day', other: 'days' })}`
    : `${hours} ${form(hours, { one: 'hour', other: 'hours' })}`;

/** Who did it; null is the reader. */
type Doer = string | null;
const past =
  (what: string) =>
  (who: Doer): string =>
    `${who ?? 'You'} ${what}`;

export const cards = {
  someone: 'Someone',
  fromTo: (from: Doer, to: Doer | undefined) =>
    to === undefined ? (from ?? 'You') : `${from ?? 'You'} to ${to ?? 'you'}`,
  waitsFor: (names: string) => `Waiting for ${names}`,
  yourTurn: 'Your turn',
  expiresIn: (left: string) => `Ends in ${left}`,
  answerWithin: (left: string) => `Answer within ${left}`,
  expired: 'Time is over',
  settling: (state: string) => `${state}…`,
  settlingHint: 'This takes a moment. You need not stay here.',
  actions: 'What you can do',
  history: 'History',
  historyOf: (title: string) => `History: ${title}`,
  historyFailed: 'The history could not be loaded.',
  version: (version: number) => `Version ${version}`,
  byItself: 'By itself',

  areYouSure: (label: string) => `${label}?`,
  pay: (sum: string) => `Pay ${sum}`,
  payHint: (sum: string) => `${sum} will be charged to you now.`,
  otherPays: (name: string, sum: string) => `${name} will be charged ${sum} now.`,
  refund: (sum: string) => `Refund ${sum}`,
  refundHint: (name: string, sum: string) => `${sum} goes back to ${name}. This cannot be undone.`,
  cancelHint: (sum: string) => `The booking ends. ${sum} goes back to the buyer.`,
  goBack: 'Go back',
  busy: 'Working…',

  meanwhile: (what: string, state: string) => `Meanwhile: ${what}. It is now “${state}”.`,
  meanwhileChanged: (state: string) => `This has changed meanwhile. It is now “${state}”.`,
  lookAgain: 'Look at it again before you decide.',
  notPossibleNow: 'This is no longer possible.',
  unreachable:
    'No answer from the server. What you pressed is kept; trying again does it once only.',

  inZone: (zone: string) => `${zone} time`,
  oldTime: 'So far',
  options: 'Times to choose from',
  chosen: 'Chosen',
  total: 'Total',
  estimate: 'Estimate',
  fromDeposit: (sum: string) => `${sum} of it from the deposit`,
  itemLine: (qty: string, unit: string) => `${qty} × ${unit}`,
  minutes: (minutes: string) => `${minutes} min`,
  runningSince: (time: string) => `Running since ${time}`,
  openMap: 'Open in OpenStreetMap',
  newTab: 'opens in a new tab',
  erased: 'What it said was erased when it ended.',
  openDocument: 'Read the document',
  fingerprint: 'Fingerprint (SHA-256)',
  signers: 'Signatures',
  signerStates: { pending: 'not yet', signed: 'signed', declined: 'declined' } as Record<
    string,
    string
  >,
  quote: 'If it is cancelled',
  quoteLine: (sum: string, percent: number) => `${sum} goes back to the buyer (${percent}%)`,
  quoteYours: (sum: string, percent: number) => `You get ${sum} back (${percent}%)`,
  quoteKept: (sum: string) => `${sum} stays with the seller`,
  quoteBySeller: 'a seller who cancels gives everything back',
  quoteNotice: (hours: number) =>
    hours > 0 ? `as agreed for at least ${notice(hours)} of notice` : 'as agreed for short notice',
  files: 'Files',
  filesCount: (count: number) => `${count} ${form(count, { one: 'file', other: 'files' })}`,
  showFiles: 'Show the files',
  round: (round: number) => `Round ${round}`,
  failure: (code: string) =>
    code === 'card_declined'
      ? 'The bank declined the payment.'
      : `The payment failed (${code.replaceAll('_', ' ')}).`,
  yes: 'Yes',
  no: 'No',

  names: {
    amount_cents: 'Amount',
    buyer_payable: 'The buyer pays this',
    date: 'Date',
    description: 'Description',
    document_id: 'Document',
    end: 'End',
    items: 'Items',
    kind: 'Kind',
    lat: 'Latitude',
    leg_id: 'Part of the booking',
    lon: 'Longitude',
    manifest_id: 'Files',
    merchant: 'Paid to',
    minutes: 'Minutes',
    note: 'Note',
    notes: 'What should change',
    option: 'Time',
    options: 'Times',
    percent: 'Percent',
    qty: 'Number',
    rate_cents_per_hour: 'Rate per hour',
    reason: 'Reason',
    revision_notes: 'Changes asked for',
    sha256: 'Fingerprint (SHA-256)',
    start: 'Start',
    timezone: 'Time zone of the event',
    title: 'What',
    unit_cents: 'Price each',
    until: 'Until',
  } as Record<string, string>,
  values: { time_based: 'By time', milestone: 'By milestone' } as Record<string, string>,

  newCard: 'Add to this conversation',
  newCardFailed: 'This could not be sent.',
  create: 'Send',
  notNow: 'Not now',
  optional: 'optional',
  day: 'Day',
  clock: 'Time',
  choose: 'Choose…',
  add: 'Add another',
  removeNumber: (number: number) => `Remove number ${number}`,
  rowNumber: (number: number) => `Number ${number}`,
  yourTimes: (zone: string) => `Times are yours: ${zone}.`,
  thereIs: (time: string, zone: string) => `${time} in ${zone}`,
  useMyPosition: 'Use my current position',
  locating: 'Finding your position…',
  noPosition: 'Your position is not available. Enter it by hand.',
  minutesHint: 'Leave it empty to run a clock instead.',
  documentHint: 'You sign the document with this fingerprint.',
  nothingToSign: 'No document of this booking waits for a signature.',
  chooseFiles: 'Choose files…',
  addFile: 'Add a file by hand',
  filesHint:
    'Files stay where they are: give each its https address. Choosing them here fills in name, size and fingerprint.',
  fileName: 'Name',
  fileUrl: 'Address (https)',
  fileBytes: 'Size in bytes',
  hashing: 'Working out the fingerprints…',
  filesWrong: 'Each file needs a name, an https address, its size and a fingerprint of 64 digits.',
  noFiles: 'Choose or add at least one file.',

  faults: {
    required: () => 'This is needed.',
    tooShort: (limit: string) => `At least ${characters(Number(limit))}.`,
    tooLong: (limit: string) => `At most ${characters(Number(limit))}.`,
    tooSmall: (limit: string) => `At least ${limit}.`,
    tooLarge: (limit: string) => `At most ${limit}.`,
    tooFew: (limit: string) => `Add at least ${limit}.`,
    tooMany: (limit: string) => `At most ${limit}.`,
    noSum: () => 'Write an amount such as 12.50.',
    noInteger: () => 'Write a whole number.',
    noNumber: () => 'Write a number.',
    noMoment: () => 'Give a day and a time.',
    noSuchTime: () => 'Clocks are put forward over this time. Choose another.',
    pattern: () => 'This is not in the form that is needed.',
    endsBeforeStart: () => 'The end must be after the start.',
  },

  acts: {
    create: past('made this'),
    accept: past('accepted'),
    approve: past('approved'),
    auto_accept: () => 'Accepted after the review time',
    confirm: past('confirmed'),
    counter: past('made another proposal'),
    decline: past('declined'),
    dispute: past('disputed it'),
    end: past('ended it'),
    escalate: past('asked the team'),
    expire: () => 'The time was over',
    failed: () => 'The payment failed',
    request_revision: past('asked for changes'),
    resubmit: past('delivered again'),
    retry: past('tried again'),
    sign: past('signed'),
    stop: past('stopped the clock'),
    succeeded: () => 'The payment went through',
    withdraw: past('withdrew it'),
  } as Record<string, (who: Doer) => string>,
  otherAct: (who: Doer, label: string) => `${who ?? 'You'}: ${label}`,

  booking: 'Booking',
  showDetails: 'Show details',
  hideDetails: 'Hide details',
  moreLegs: (count: number) => `+${count} more`,
  paid: 'paid',
  legStates: {
    proposed: 'Proposed',
    confirmed: 'Confirmed',
    in_progress: 'In progress',
    completed: 'Completed',
    cancelled: 'Cancelled',
    disputed: 'Disputed',
  },
  timers: {
    leg_starts: (left: string) => `Starts in ${left}`,
    leg_ends: (left: string) => `Ends in ${left}`,
    review_ends: (left: string) => `Review ends in ${left}`,
    card_expires: (left: string) => `An answer is due in ${left}`,
  },
};
