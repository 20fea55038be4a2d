import type { Folder, Kind, ThreadStage } from '@greenroom/sdk';

import { plurals } from '../plural.ts';

const plural = plurals('de');

const folders: Record<Folder, string> = {
  all: 'Alle',
  action: 'Für Sie',
  bookings: 'Buchungen',
  offers: 'Angebote',
  requests: 'Anfragen',
  archived: 'Archiv',
  spam: 'Spam',
};

const kinds: Record<Kind, string> = {
  inquiry: 'Anfrage',
  invite: 'Einladung',
  project: 'Buchung',
  dispute: 'Streitfall',
  support: 'Hilfe',
  system: 'Hinweise',
};

const states: Record<ThreadStage, string> = {
  open: 'Offen',
  awaiting_reply: 'Wartet auf Antwort',
  pending_decision: 'Entscheidung steht aus',
  confirmed: 'Bestätigt',
  completed: 'Abgeschlossen',
  disputed: 'Strittig',
  archived: 'Lange still',
};

const empty: Record<Folder, { title: string; text: string }> = {
  all: {
    title: 'Noch keine Nachrichten',
    text: 'Wenn Sie jemandem schreiben oder jemand Ihnen, beginnt es hier.',
  },
  action: {
    title: 'Nichts wartet auf Sie',
    text: 'Fragen, Preise und Dokumente, die Ihre Antwort brauchen, stehen hier.',
  },
  bookings: {
    title: 'Noch keine Buchungen',
    text: 'Eine Unterhaltung kommt hierher, sobald ihre Buchung bestätigt ist.',
  },
  offers: {
    title: 'Keine offenen Angebote',
    text: 'Anfragen und Einladungen stehen hier, bis daraus eine Buchung wird.',
  },
  requests: {
    title: 'Keine Anfragen',
    text: 'Wer Ihnen zum ersten Mal schreibt, wartet hier auf Ihre Antwort.',
  },
  archived: {
    title: 'Nichts archiviert',
    text: 'Archiviere, was erledigt ist. Schreibt jemand, kommt es von selbst zurück.',
  },
  spam: {
    title: 'Kein Spam',
    text: 'Anfragen, die Sie ablehnen, landen hier.',
  },
};

const notices = {
  joined: (name: string) => `${name} ist jetzt dabei`,
  youJoined: 'Sie sind jetzt dabei',
  hasLeft: (name: string) => `${name} hat die Unterhaltung verlassen`,
  youLeft: 'Sie haben die Unterhaltung verlassen',
  removed: (name: string) => `${name} wurde aus der Unterhaltung entfernt`,
  youWereRemoved: 'Sie wurden aus der Unterhaltung entfernt',
  promoted: 'Diese Unterhaltung ist jetzt eine Buchung',
  nextBooking: 'Hier wurde eine neue Buchung vorgeschlagen',
  paymentDisputed: 'Der Käufer beanstandet eine Zahlung bei seiner Bank. Auszahlungen warten.',
  paymentDisputeWon: 'Die Beanstandung bei der Bank ist beendet: die Zahlung gilt',
  paymentDisputeLost: 'Die Beanstandung bei der Bank ist beendet: die Zahlung wurde zurückgeholt',
  disputeEnded: 'Der Streitfall ist beendet: die Arbeit gilt als abgenommen',
  proposed: (what: string) => `Buchung vorgeschlagen: ${what}`,
  confirmed: (price: string | null) =>
    price === null ? 'Buchung bestätigt' : `Buchung bestätigt: ${price}`,
  paymentFailed: (price: string | null) =>
    price === null
      ? 'Die Zahlung ist fehlgeschlagen. Die Buchung ist nicht bestätigt.'
      : `Die Zahlung von ${price} ist fehlgeschlagen. Die Buchung ist nicht bestätigt.`,
  cancelled: 'Die Buchung wurde storniert',
  cancelledBy: (name: string) => `${name} hat die Buchung storniert`,
  youCancelled: 'Sie haben die Buchung storniert',
  someone: 'Jemand',
  unknown: 'In dieser Unterhaltung hat sich etwas geändert',
};

export const inbox = {
  title: 'Nachrichten',
  folders,
  folderList: 'Ordner',
  kinds,
  states,
  empty,
  notices,

  search: 'Person oder Betreff suchen',
  clearSearch: 'Suche leeren',
  filter: 'Filter',
  filterOn: (count: number) => `Filter, ${count} an`,
  unread: 'Ungelesen',
  starred: 'Markiert',
  hasFiles: 'Mit Dateien',
  kind: 'Art',
  state: 'Stand',
  any: 'Alle',
  removeFilter: (name: string) => `Filter entfernen: ${name}`,
  clearAll: 'Alle entfernen',
  conversations: 'Unterhaltungen',
  shown: (count: number, isAll: boolean) =>
    isAll
      ? plural(count, { one: '1 Unterhaltung', other: `${count} Unterhaltungen` })
      : `Mehr als ${count} Unterhaltungen`,

  noResult: 'Nichts gefunden',
  noResultText: (q: string) => `Keine Person und kein Betreff passt hier zu „${q}“.`,
  noMatch: 'Nichts passt',
  noMatchText: 'Keine Unterhaltung in diesem Ordner passt zu diesen Filtern.',
  clearFilters: 'Filter entfernen',
  failed: 'Ihre Nachrichten konnten nicht geladen werden',
  moreFailed: 'Die nächsten Unterhaltungen konnten nicht geladen werden.',
  stored: 'So zuletzt auf diesem Gerät gesehen.',

  you: (text: string) => `Sie: ${text}`,
  by: (name: string, text: string) => `${name}: ${text}`,
  draft: 'Entwurf:',
  typing: (names: readonly string[], list: string) =>
    names.length === 1 ? `${list} schreibt …` : `${list} schreiben …`,
  deleted: 'Nachricht gelöscht',
  youDeleted: 'Sie haben eine Nachricht gelöscht',
  card: 'Hat eine Karte geschickt',
  noMessage: 'Noch keine Nachricht',
  nobody: 'Niemand sonst',

  sent: 'Gesendet',
  delivered: 'Zugestellt',
  read: 'Gelesen',
  waiting: 'Wird noch gesendet',
  sendFailed: 'Nicht gesendet',
  unreadMessages: (count: number) =>
    plural(count, { one: '1 ungelesene Nachricht', other: `${count} ungelesene Nachrichten` }),
  waitingThreads: (count: number) =>
    plural(count, { one: '1 wartet auf Sie', other: `${count} warten auf Sie` }),
  unreadThreads: (count: number) =>
    plural(count, {
      one: '1 ungelesene Unterhaltung',
      other: `${count} ungelesene Unterhaltungen`,
    }),
  markRead: 'Als gelesen markieren',
  needsYou: 'Für Sie',
  booking: 'Buchung',
  pinned: 'Angeheftet',
  muted: 'Stumm',
  online: 'Online',

  actions: 'Was mit dieser Unterhaltung geschehen soll',
  actionsFor: (name: string) => `Aktionen für ${name}`,
  pin: 'Anheften',
  unpin: 'Lösen',
  star: 'Markieren',
  unstar: 'Markierung entfernen',
  muteHours: (hours: number) =>
    plural(hours, { one: '1 Stunde stumm', other: `${hours} Stunden stumm` }),
  mute: 'Stumm, bis ich es ändere',
  unmute: 'Nicht mehr stumm',
  archive: 'Archivieren',
  unarchive: 'In den Eingang',
  isArchived: 'Archiviert.',
  isUnarchived: 'In den Eingang verschoben.',
  undo: 'Rückgängig',
  notDone: (name: string) => `„${name}“ hat nicht geklappt.`,

  live: 'Verbunden',
  connecting: 'Verbindet …',
  reconnecting: 'Verbindet neu …',
  polling: 'Neues alle paar Sekunden',
  offline: 'Offline',
  closed: 'Nicht verbunden',
};
