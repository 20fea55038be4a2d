import { plurals } from '../plural.ts';

const form = plurals('en');
const characters = (count: number): string =>
  `${count} ${form(count, { one: 'character', other: 'characters' })}`;

export const forms = {
  optional: 'optional',
  day: 'Day',
  clock: 'Time',
  choose: 'Choose…',
  add: 'Add another',
  removeNumber: (number: number) => `Remove number ${number}`,
  rowNumber: (number: number) => `Number ${number}`,
  yourTimes: (zone: string) => `Times are in your time zone (${zone}).`,
  bookedNow: (when: string) => `Booked now: ${when}`,
  thereIs: (time: string, zone: string) => `${time} in ${zone}`,
  useMyPosition: 'Use my current position',
  noPosition: 'Your position is not available. Enter it by hand.',
  minutesHint: 'Leave it empty to run a clock instead.',
  documentHint: 'You sign the document with this fingerprint.',
  nothingToSign:
    'There is no document to sign here. Contracts and releases come from the marketplace: once it adds one to this booking, you can ask for its signature.',
  chooseFiles: 'Choose files on this device…',
  addFile: 'Add a file by hand',
  earlierLists: 'Deliver an earlier list again',
  newList: 'A new list',
  filesHint:
    'Upload the finished files where you share them, for example to your gallery or cloud drive, and paste the link to each here. Choose the same files on this device, and the rest is filled in for you.',
  fileName: 'Name',
  fileUrl: 'Link (begins with https://)',
  fileBytes: 'Size in bytes',
  hashing: 'Reading the files…',
  filesWrong:
    'Each file needs a name and a link that begins with https://. Choose the file on this device to have its size and fingerprint filled in.',
  noFiles: 'Choose or add at least one file.',
  notNow: 'Not now',
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
};
