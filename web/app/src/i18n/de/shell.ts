import type { ShellWords } from '../shell.ts';

export const shell: ShellWords = {
  messages: 'Nachrichten',
  product: 'Greenroom',
  signInTitle: 'Anmelden',
  title: (page, place) => `${page} · ${place}`,
  unreadTitle: (count, title) => `(${count}) ${title}`,
  skipToThread: 'Zum Gespräch springen',
  skipToInbox: 'Zur Liste der Gespräche springen',

  menuOf: (name) => `Menü von ${name}`,
  language: 'Sprache',
  theme: 'Darstellung',
  themes: { system: 'Wie System', light: 'Hell', dark: 'Dunkel' },
  shortcuts: 'Tastenkürzel',
  preferences: 'Einstellungen',
  blocked: 'Blockierte Personen',
  signOut: 'Abmelden',
  somebodyElse: 'In einem zweiten Fenster jemand anders sein',

  keys: {
    help: 'Diese Kürzel zeigen',
    search: 'Gespräche durchsuchen',
    previous: 'Vorheriges Gespräch',
    next: 'Nächstes Gespräch',
    newLine: 'Neue Zeile in einer Nachricht',
    editLast: 'Letzte eigene Nachricht bearbeiten, aus leerem Feld',
    markRead: 'Offene Unterhaltung als gelesen markieren',
    back: 'Leiste schließen oder zurück zur Liste',
  },
  keyNames: { alt: 'Alt', enter: 'Enter', escape: 'Esc', shift: 'Umschalt', up: '↑', down: '↓' },
  singleKeys: 'Kürzel aus einer einzigen Taste',
  singleKeysHint: 'Schalten Sie sie aus, wenn Sie diktieren oder Tasten versehentlich treffen.',

  choosePerson: 'Wer sind Sie heute?',
  choosePersonHint: 'Ein Beispiel-Marktplatz mit Leuten, die sich etwas zu sagen haben.',
  twoWindows: 'Zwei Fenster ergeben ein Gespräch.',
  twoWindowsHint: 'Öffnen Sie ein zweites und wählen Sie dort jemand anders.',
  secondWindow: 'Zweites Fenster öffnen',
  opensWindow: 'öffnet ein neues Fenster',
  signInAs: (name) => `Weiter als ${name}`,
  inCity: (role, city) => `${role}, ${city}`,
  roles: {
    assistant: 'Assistenz',
    buyer: 'Kundschaft',
    carpenter: 'Tischlerei',
    electrician: 'Elektrik',
    makeup: 'Make-up',
    model: 'Model',
    photographer: 'Fotografie',
    studio: 'Studio',
    videographer: 'Video',
  },
  yourMarketplace: 'Ihr Marktplatz meldet Sie an',
  yourMarketplaceHint:
    'Nachrichten öffnen sich auf der Seite, auf der Sie buchen. Melden Sie sich dort an und wählen Sie sie.',
  buildersHint:
    'Betreiben Sie diesen Marktplatz? Schicken Sie Leute mit ihrem Token zu /app#token=…',
  expired:
    'Sie wurden abgemeldet, weil Ihre Anmeldung abgelaufen ist. Bitte melden Sie sich neu an.',
  signedOut: 'Sie sind abgemeldet. In diesem Browser ist nichts von Ihren Gesprächen geblieben.',
};
