import type { StartWords } from '../start.ts';

export const start: StartWords = {
  heading: 'Neue Nachricht',
  about: 'Worum es geht',
  label: (name) => `Nachricht an ${name}`,
  placeholder: 'Schreiben Sie die erste Nachricht',
  send: 'Senden',
  sending: 'Wird gesendet …',
  hint: 'Enter sendet, Umschalt + Enter beginnt eine neue Zeile',
  sent: 'Nachricht gesendet',
  sentText: (name) => `Was ${name} antwortet, steht in Ihren Nachrichten.`,
  somebody: 'diese Person',
  alreadyTalking: (name) => `Sie sind schon mit ${name} im Gespräch.`,
  openTalk: 'Gespräch öffnen',
  orNew: 'Oder beginnen Sie ein neues:',

  unreachable:
    'Ob Ihre Nachricht angekommen ist, ist nicht bekannt: Der Server antwortet nicht. Ihr Text bleibt hier. Versuchen Sie es noch einmal; gesendet wird einmal.',
  tooMany: (left) =>
    `Sie haben in kurzer Zeit viele Gespräche begonnen. In ${left} können Sie dies senden. Ihr Text bleibt hier.`,
  unknown: 'Diese Person ist hier nicht zu finden. Vielleicht ist sie nicht mehr dabei.',
  self: 'Das sind Sie selbst. Schreiben Sie jemand anderem.',
  tooLong: 'Ihre Nachricht ist zu lang. Bitte kürzen Sie sie.',
  blocked: (name) => `Sie haben ${name} blockiert. Heben Sie das auf, um zu schreiben.`,
  locked: 'Euer Gespräch darüber ist geschlossen, dort kann nichts mehr geschrieben werden.',
  notSignedIn: 'Sie sind hier nicht angemeldet. Melden Sie sich an, Ihr Text ist dann noch da.',
};
