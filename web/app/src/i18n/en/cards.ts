import { plurals } from '../plural.ts';
import type { Until } from '../when.ts';

const form = plurals('en');
/** In days where it is whole days, as people agree on it. */
const notice = (hours: number): string =>
  hours % 24 === 0
    ? `${hours / 24} ${form(hours / 24, { one: 'day', other: 'days' })}`
    : `${hours} ${form(hours, { one: 'hour', other: 'hours' })}`;

const inOrOn = ({ isNear, text }: Until): string => `${isNear ? 'in' : 'on'} ${text}`;

/** Who did it; null is the reader. */
type Doer = string | null;
export const cards = {
  someone: 'Someone',
  fromTo: (from: Doer, to: Doer | undefined) =>
    to === undefined ? (from ?? 'You') : `${from ?? 'You'} to ${to ?? 'you'}`,
  waitsFor: (names: string) => `Waiting for ${names}`,
  yourTurn: 'Your turn',
  expiresIn: (until: Until) => `Ends ${inOrOn(until)}`,
  answerWithin: ({ isNear, text }: Until) => `Answer ${isNear ? 'within' : 'by'} ${text}`,
  /** What silence means; the seller is null where that is the reader. */
  bySilence: ({ isNear, text }: Until, isMine: boolean, seller: Doer) =>
    `If ${isMine ? 'you do not answer' : 'nobody answers'} ${isNear ? 'within' : 'by'} ${text}, it counts as accepted and ${seller ?? 'you'} ${seller === null ? 'are' : 'is'} paid.`,
  expired: 'Time is over',
  settling: (state: string) => `${state}…`,
  settlingHint: 'This takes a moment. You need not stay here.',
  actions: 'What you can do',
  history: 'History',
  historyOf: (title: string) => `History: ${title}`,

  areYouSure: (label: string) => `${label}?`,
  pay: (sum: string) => `Pay ${sum}`,
  payHint: (sum: string) => `${sum} will be charged to you now.`,
  otherPays: (name: string, sum: string) => `${name} will be charged ${sum} now.`,
  refund: (sum: string) => `Refund ${sum}`,
  refundHint: (name: string, sum: string) => `${sum} goes back to ${name}. This cannot be undone.`,
  depositBack: (sum: string) => `The deposit of ${sum} is given back.`,
  cancelHint: (sum: string) => `The booking ends. ${sum} goes back to the buyer.`,
  paysOut: (seller: string, sum: string) =>
    `${sum} goes to ${seller} now, and what is still open about this booking is closed.`,
  paysOutAll: (seller: string) =>
    `${seller} is paid now, and what is still open about this booking is closed.`,
  notOver: (date: string) => `The booked time is not over: it ends on ${date}.`,
  goBack: 'Go back',
  busy: 'Working…',

  meanwhile: (what: string, state: string) => `Meanwhile: ${what}. It is now “${state}”.`,
  meanwhileChanged: (state: string) => `This has changed meanwhile. It is now “${state}”.`,
  chooseFirst: 'Choose at least one picture first.',
  lookAgain: 'Look at it again before you decide.',
  notPossibleNow: 'This is no longer possible.',
  unreachable:
    'No answer from the server. What you pressed is kept; trying again does it once only.',

  inZone: (zone: string) => `${zone} time`,
  yourTime: (time: string) => `Your time: ${time}`,
  oldTime: 'So far',
  options: 'Times to choose from',
  chosen: 'Chosen',
  total: 'Total',
  inFlight: (sum: string) => `A payment of ${sum} is under way. It goes back when it comes in.`,
  returned: (sum: string) => `${sum} came in afterwards and goes back to the buyer.`,
  payouts: {
    held: 'The payout is held until this is settled.',
    sent: 'The payout had already been sent.',
  } as Record<string, string>,
  fromDeposit: (sum: string) => `${sum} of it from the deposit`,
  itemLine: (qty: string, unit: string) => `${qty} × ${unit}`,
  minutes: (minutes: string) => `${minutes} min`,
  runningSince: (time: string) => `Running since ${time}`,
  newTab: 'opens in a new tab',
  erased: 'What it said was erased when it ended.',
  openDocument: 'Read the document',
  copyFingerprint: 'Copy the fingerprint',
  copied: 'Copied',
  fingerprint: 'Fingerprint (SHA-256)',
  signers: 'Signatures',
  signerStates: { pending: 'not yet', signed: 'signed', declined: 'declined' } as Record<
    string,
    string
  >,
  quote: 'If it is cancelled',
  cancelled: 'It was cancelled',
  quoteLine: (sum: string, percent: number) => `${sum} goes back to the buyer (${percent}%)`,
  quoteDone: (sum: string, percent: number) => `${sum} went back to the buyer (${percent}%)`,
  depositDone: (sum: string) => `The deposit of ${sum} was given back.`,
  quoteYours: (sum: string, percent: number) => `You get ${sum} back (${percent}%)`,
  quoteKept: (sum: string) => `${sum} stays with the seller`,
  quoteBySeller: 'a seller who cancels gives everything back',
  quoteNotice: (hours: number) =>
    hours > 0 ? `as agreed for at least ${notice(hours)} of notice` : 'as agreed for short notice',
  files: 'Files',
  filesCount: (count: number) => `${count} ${form(count, { one: 'file', other: 'files' })}`,
  showFiles: 'Show the files',
  round: (round: number) => `Round ${round}`,
  failure: (code: string) => `The payment failed (${code.replaceAll('_', ' ')}).`,
  bankAsks: 'Your bank wants you to confirm this payment.',
  bankAsksHint: 'Nothing is charged before that.',
  bankAsksBuyer: 'The buyer’s bank wants them to confirm this payment.',
  confirmWithBank: 'Confirm with your bank',
  confirmOnSite: 'Please confirm it where you manage your payments on this site.',
  failures: {
    card_declined: 'The bank declined the payment.',
    insufficient_funds: 'There is not enough money on the account.',
    expired_card: 'The card has expired.',
    incorrect_cvc: 'The security code of the card is wrong.',
    incorrect_number: 'The number of the card is wrong.',
    card_velocity_exceeded: 'The card has reached its limit.',
    authentication_failed: 'The payment was not confirmed with the bank.',
    confirmation_expired: 'The payment was not confirmed with the bank in time.',
    no_payment_method: 'There is no way to pay on file. Add one, then try again.',
  } as Record<string, string>,
  youPay: 'You pay this',
  yes: 'Yes',
  no: 'No',

  names: {
    amount_cents: 'Amount',
    buyer_payable: 'The buyer pays this',
    date: 'Date',
    description: 'Description',
    document_id: 'Document',
    end: 'End',
    file_notes: 'Notes on single pictures',
    gallery: 'Pictures',
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
    place: 'Address or place',
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

  newCard: 'Add to this conversation',
  groups: {
    likely: 'Likely now',
    time: 'Time and place',
    money: 'Money',
    delivery: 'Delivery and documents',
    other: 'More',
    problems: 'Problems',
  },
  newCardFailed: 'This could not be sent.',
  create: 'Send',
  locating: 'Finding your position…',

  booking: 'Booking',
  showDetails: 'Show details',
  hideDetails: 'Hide details',
  moreLegs: (count: number) => `+${count} more`,
  /** The words of the expenses, after a sum. */
  sums: {
    agreed: (amount: string) => `${amount} agreed`,
    paid: (amount: string) => `${amount} paid`,
    pending: (amount: string) => `${amount} pending`,
    open: (amount: string) => `${amount} open`,
    failed: (amount: string) => `${amount} failed`,
    refunded: (amount: string) => `${amount} refunded`,
    kept: (amount: string) => `${amount} kept`,
    paid_out: (amount: string) => `${amount} paid out`,
    held: (amount: string) => `${amount} held`,
  },
  legStates: {
    proposed: 'Proposed',
    confirmed: 'Confirmed',
    in_progress: 'In progress',
    completed: 'Completed',
    cancelled: 'Cancelled',
    disputed: 'Disputed',
  },
  timers: {
    leg_starts: (until: Until) => `Starts ${inOrOn(until)}`,
    leg_ends: (until: Until) => `Ends ${inOrOn(until)}`,
    review_ends: (until: Until) => `Review ends ${inOrOn(until)}`,
    card_expires: (until: Until) => `An answer is due ${inOrOn(until)}`,
  },
};
