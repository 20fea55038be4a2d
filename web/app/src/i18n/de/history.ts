import type { HistoryWords } from '../history.ts';

type Doer = string | null;
const past =
  (what: string) =>
  (who: Doer): string =>
    `${who === null ? 'Sie haben' : `${who} hat`} ${what}`;

export const history: HistoryWords = {
  historyFailed: 'Der Verlauf konnte nicht geladen werden.',
  version: (version: number) => `Fassung ${version}`,
  byItself: 'Von selbst',
  acts: {
    create: past('das erstellt'),
    accept: past('angenommen'),
    approve: past('freigegeben'),
    auto_accept: () => 'Nach Ablauf der Prüfzeit abgenommen',
    charge_failed: () => 'Die laufende Zahlung ist fehlgeschlagen',
    charge_returned: () => 'Eine Zahlung kam zu spät und geht zurück',
    close: () => 'Mit der Buchung geschlossen',
    confirm: past('bestätigt'),
    counter: past('einen Gegenvorschlag gemacht'),
    decline: past('abgelehnt'),
    dispute: past('es beanstandet'),
    end: past('es beendet'),
    escalate: past('das Team eingeschaltet'),
    expire: () => 'Die Zeit war um',
    failed: () => 'Die Zahlung ist fehlgeschlagen',
    request_revision: past('Änderungen gewünscht'),
    resubmit: past('erneut geliefert'),
    retry: past('es noch einmal versucht'),
    run_out: () => 'Die Uhr ist von selbst stehen geblieben',
    sign: past('unterschrieben'),
    stop: past('die Uhr angehalten'),
    succeeded: () => 'Die Zahlung ist durchgegangen',
    withdraw: past('es zurückgezogen'),
  },
  otherAct: (who: Doer, label: string) => `${who ?? 'Sie'}: ${label}`,
};
