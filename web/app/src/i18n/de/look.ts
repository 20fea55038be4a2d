export const look = {
  close: 'Schließen',
  cancel: 'Abbrechen',
  retry: 'Noch einmal versuchen',
  loading: 'Wird geladen …',
  unreachable: 'Der Server antwortet nicht. Prüfe deine Verbindung und versuche es noch einmal.',
};
