export const look = {
  close: 'Schließen',
  cancel: 'Abbrechen',
  retry: 'Noch einmal versuchen',
  loading: 'Wird geladen …',
  notSignedIn: 'Du bist hier nicht angemeldet. Melde dich an, dann sind deine Nachrichten da.',
  unreachable: 'Der Server antwortet nicht. Prüfe deine Verbindung und versuche es noch einmal.',
};
