import type { Media } from '@greenroom/sdk';

import { type Forms, plurals } from '../plural.ts';

const plural = plurals('de');

const files: Record<Media, (count: number) => Forms> = {
  image: (count) => ({ one: 'Foto', other: `${count} Fotos` }),
  video: (count) => ({ one: 'Video', other: `${count} Videos` }),
  audio: (count) => ({ one: 'Sprachnachricht', other: `${count} Sprachnachrichten` }),
  pdf: (count) => ({ one: 'Dokument', other: `${count} Dokumente` }),
  other: (count) => ({ one: 'Datei', other: `${count} Dateien` }),
};

export const look = {
  files: (media: Media, count: number) => plural(count, files[media](count)),
  close: 'Schließen',
  cancel: 'Abbrechen',
  retry: 'Noch einmal versuchen',
  loading: 'Wird geladen …',
  message: 'Nachricht',
  notSignedIn: 'Sie sind hier nicht angemeldet. Melden Sie sich an, dann sind Ihre Nachrichten da.',
  signedOut: 'Sie sind abgemeldet',
  signedOutText: 'Melden Sie sich an, dann sind Ihre Nachrichten hier.',
  unreachable:
    'Der Server antwortet nicht. Prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.',
};
