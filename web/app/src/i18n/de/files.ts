import type { FileWords } from '../files.ts';
import { plurals } from '../plural.ts';

const plural = plurals('de');

const reasons: Record<string, string> = {
  virus: 'Darin wurde ein Virus gefunden.',
  damaged: 'Sie ist beschädigt und lässt sich nicht öffnen.',
  type_mismatch: 'Ihr Inhalt ist nicht das, was der Name sagt.',
  unsupported: 'Dateien dieser Art können nicht gesendet werden.',
  too_large: 'Sie ist zu groß.',
  too_many_pixels: 'Das Bild hat zu viele Bildpunkte.',
  too_long: 'Sie ist zu lang.',
  not_scanned: 'Sie konnte nicht auf Viren geprüft werden.',
  empty: 'Sie ist leer.',
};

const problems: Record<string, string> = {
  ATTACHMENT_TOO_LARGE: 'Zu groß',
  UNSUPPORTED_TYPE: 'Diese Art von Datei kann nicht gesendet werden',
  UPLOAD_QUARANTINED: 'Von einer Prüfung zurückgehalten',
  RATE_LIMITED: 'Zu viele Uploads. Versuchen Sie es später noch einmal',
  THREAD_NOT_FOUND: 'Sie sind nicht mehr in dieser Unterhaltung',
  UPLOAD_LOST: 'Die Datei ist nicht mehr auf diesem Gerät',
};

export const files: FileWords = {
  reasons,
  problems,

  attach: 'Dateien anhängen',
  choosePhotos: 'Fotos und Videos',
  takePhoto: 'Foto aufnehmen',
  chooseFile: 'Datei',
  recordVoice: 'Sprachnachricht aufnehmen',
  tray: 'Dateien zum Senden',
  added: (count) =>
    plural(count, { one: '1 Datei angehängt', other: `${count} Dateien angehängt` }),
  tooLarge: (name, most) => `${name} ist größer als ${most}.`,
  isEmpty: (name) => `${name} ist leer.`,
  tooMany: (most) => `Eine Nachricht nimmt höchstens ${most} Dateien auf.`,

  leftover: (count) =>
    plural(count, {
      one: '1 Datei vom letzten Mal ist noch nicht gesendet.',
      other: `${count} Dateien vom letzten Mal sind noch nicht gesendet.`,
    }),
  goOn: 'Fortsetzen',
  dismiss: 'Entfernen',

  remove: (name) => `${name} entfernen`,
  pause: (name) => `${name} anhalten`,
  resume: (name) => `${name} fortsetzen`,
  retry: (name) => `${name} noch einmal versuchen`,
  moveHint: 'Pfeiltasten verschieben sie, Entf entfernt sie.',
  place: (place, count) => `${place} von ${count}`,
  movedTo: (name, place, count) => `${name}: ${place} von ${count}`,
  waiting: 'Wartet',
  uploading: (percent) => `${percent} hochgeladen`,
  sendWithout: (count: number) =>
    plural(count, { one: 'Ohne sie senden', other: 'Ohne diese senden' }),
  paused: 'Angehalten',
  finishing: 'Gleich fertig',
  done: 'Hochgeladen',
  failed: 'Upload fehlgeschlagen',
  describe: 'Beschreiben',
  described: 'Beschrieben',
  describeHeading: 'Was zeigt das Bild?',
  describeHint: 'Für Menschen, die ihre Nachrichten hören statt sehen. Es ist freiwillig.',
  describeLabel: 'Beschreibung',
  saveDescription: 'Speichern',

  photo: 'Foto',
  video: 'Video',
  photoOf: (index, count) => `Foto ${index} von ${count}`,
  open: (what) => `${what} öffnen`,
  download: (name) => `${name} herunterladen`,
  downloadShort: 'Herunterladen',
  processing: 'Wird vorbereitet …',
  sensitive: 'Das könnte heikel sein',
  show: 'Zeigen',
  showNamed: (name) => `${name} zeigen`,
  hidden: 'Von Safe-Mode verborgen',
  quarantined: 'Diese Datei wird zurückgehalten, bis sie geprüft ist.',
  refused: 'Diese Datei konnte nicht gesendet werden.',
  withheld: 'Diese Datei ist nicht verfügbar.',
  expired: 'Diese Datei ist abgelaufen.',
  unavailable: 'Sie konnte nicht geladen werden.',

  viewer: 'Bilder',
  previous: 'Voriges Bild',
  next: 'Nächstes Bild',
  zoomIn: 'Vergrößern',
  zoomOut: 'Verkleinern',
  close: 'Schließen',

  play: 'Abspielen',
  pausePlaying: 'Anhalten',
  position: 'Stelle',
  speed: (rate) => `Tempo ${rate}`,
  voiceMessage: (length) => `Sprachnachricht, ${length}`,

  recording: 'Aufnahme läuft',
  stopAndSend: 'Sprachnachricht senden',
  stopAndDiscard: 'Aufnahme verwerfen',
  noMicrophone:
    'Das Mikrofon lässt sich nicht benutzen. Erlauben Sie es in Ihrem Browser und versuchen Sie es noch einmal.',
  recordingEnds: (length) => `Endet in ${length}`,
  voiceName: 'Sprachnachricht',

  preferences: 'Einstellungen',
  safeMode: 'Safe-Mode',
  safeModeHint:
    'Bilder, die heikel sein könnten, sind unscharf, bis Sie sie antippen; eindeutige sind verborgen. In manchen Unterhaltungen ist das immer so.',
  saved: 'Gespeichert',

  proofs: 'Auswahlbilder',
  proofOf: (index, count) => `Auswahlbild ${index} von ${count}`,
  choose: (name) => `${name} auswählen`,
  chosen: 'Ausgewählt',
  chosenCount: (count) => `${count} ausgewählt`,
  noteOn: (name: string) => `Was sich ändern soll: ${name}`,
  noteHint: 'Was sich an diesem ändern soll',
  notes: 'Wünsche zu einzelnen Bildern',
  hasNote: 'Mit Notiz',
  addProofs: 'Bilder hinzufügen',
  addReceipt: 'Beleg hinzufügen',
  replaceReceipt: 'Beleg ersetzen',
  noProofs: 'Fügen Sie mindestens ein Bild hinzu.',

  more: 'Mehr zeigen',
};
