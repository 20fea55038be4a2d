import type { PeopleWords } from '../people.ts';

export const people: PeopleWords = {
  profile: (name) => `Über ${name}`,
  everybody: 'Personen in diesem Gespräch',
  verified: 'Geprüft',
  roles: {
    assistant: 'Assistenz',
    buyer: 'Auftraggeber',
    carpenter: 'Tischlerei',
    creator: 'Creator',
    electrician: 'Elektrik',
    host: 'Gastgeber',
    makeup: 'Make-up',
    model: 'Model',
    photographer: 'Fotografie',
    studio: 'Studio',
    videographer: 'Video',
  },
  message: (name) => `Nachricht an ${name}`,
  block: (name) => `${name} blockieren`,
  unblock: (name) => `${name}: Blockierung aufheben`,
  unblockShort: 'Blockierung aufheben',
  askBlock: (name) => `${name} blockieren?`,
  blockHint:
    'Nachrichten der Person erreichen Sie nicht mehr, und sie erfährt es nicht. Um ihr zu schreiben, müssen Sie die Blockierung aufheben.',
  goBack: 'Zurück',
  youBlocked: (name) =>
    `Sie haben ${name} blockiert. Zwischen Ihnen gehen keine Nachrichten hin und her.`,
  isBlocked: 'Sie haben diese Person blockiert',
  blocked: (name) => `${name} ist blockiert.`,
  unblocked: (name) => `${name} ist nicht mehr blockiert.`,
  blockedList: 'Blockierte Personen',
  seeBlocked: 'Alle ansehen, die Sie blockiert haben',
  noneBlocked: 'Sie haben niemanden blockiert.',
  noneBlockedHint:
    'Um jemanden zu blockieren, öffnen Sie ein Gespräch mit der Person und drücken Sie auf ihren Namen.',
  since: (date) => `Seit ${date}`,
  more: 'Mehr zeigen',
};
