import { plurals } from '../plural.ts';
import type { Until } from '../when.ts';

const form = plurals('de');
const notice = (hours: number): string =>
  hours % 24 === 0
    ? `${hours / 24} ${form(hours / 24, { one: 'Tag', other: 'Tagen' })}`
    : `${hours} ${form(hours, { one: 'Stunde', other: 'Stunden' })}`;

const inOrOn = ({ isNear, text }: Until): string => `${isNear ? 'in' : 'am'} ${text}`;

type Doer = string | null;
export const cards = {
  someone: 'Jemand',
  fromTo: (from: Doer, to: Doer | undefined) =>
    to === undefined ? (from ?? 'Sie') : `${from ?? 'Sie'} an ${to ?? 'Sie'}`,
  waitsFor: (names: string) => `Wartet auf ${names}`,
  yourTurn: 'Sie sind an der Reihe',
  expiresIn: (until: Until) => `Endet ${inOrOn(until)}`,
  answerWithin: ({ isNear, text }: Until) =>
    `Antworten Sie ${isNear ? 'innerhalb von' : 'bis'} ${text}`,
  bySilence: ({ isNear, text }: Until, isMine: boolean, seller: Doer) =>
    `Wenn ${isMine ? 'Sie' : 'niemand'} ${isNear ? 'innerhalb von' : 'bis'} ${text} ${isMine ? 'nicht antworten' : 'antwortet'}, gilt es als abgenommen und ${seller ?? 'Sie'} ${seller === null ? 'werden' : 'wird'} bezahlt.`,
  expired: 'Die Zeit ist um',
  settling: (state: string) => `${state} …`,
  settlingHint: 'Das dauert einen Moment. Sie müssen nicht hierbleiben.',
  actions: 'Was Sie tun können',
  history: 'Verlauf',
  historyOf: (title: string) => `Verlauf: ${title}`,

  areYouSure: (label: string) => `${label}?`,
  pay: (sum: string) => `${sum} zahlen`,
  payHint: (sum: string) => `${sum} werden Ihnen jetzt abgebucht.`,
  otherPays: (name: string, sum: string) => `${sum} werden jetzt von ${name} abgebucht.`,
  refund: (sum: string) => `${sum} erstatten`,
  refundHint: (name: string, sum: string) =>
    `${sum} gehen an ${name} zurück. Das lässt sich nicht rückgängig machen.`,
  depositBack: (sum: string) => `Die Kaution von ${sum} wird zurückgegeben.`,
  cancelHint: (sum: string) => `Die Buchung endet. ${sum} gehen an die Käuferseite zurück.`,
  paysOut: (seller: string, sum: string) =>
    `${sum} geht jetzt an ${seller}, und was zu dieser Buchung noch offen ist, wird geschlossen.`,
  paysOutAll: (seller: string) =>
    `${seller} wird jetzt bezahlt, und was zu dieser Buchung noch offen ist, wird geschlossen.`,
  notOver: (date: string) => `Die gebuchte Zeit ist noch nicht vorbei: Sie endet am ${date}.`,
  goBack: 'Zurück',
  busy: 'Wird erledigt …',

  meanwhile: (what: string, state: string) => `Inzwischen: ${what}. Jetzt gilt: „${state}“.`,
  meanwhileChanged: (state: string) => `Das hat sich inzwischen geändert. Jetzt gilt: „${state}“.`,
  chooseFirst: 'Wählen Sie zuerst mindestens ein Bild aus.',
  lookAgain: 'Sehen Sie es sich noch einmal an, bevor Sie entscheiden.',
  notPossibleNow: 'Das geht nicht mehr.',
  unreachable:
    'Keine Antwort vom Server. Ihre Eingabe bleibt; ein neuer Versuch bewirkt sie nur einmal.',

  inZone: (zone: string) => `Ortszeit ${zone}`,
  yourTime: (time: string) => `Ihre Zeit: ${time}`,
  oldTime: 'Bisher',
  options: 'Termine zur Auswahl',
  chosen: 'Gewählt',
  total: 'Summe',
  inFlight: (sum: string) =>
    `Eine Zahlung von ${sum} ist unterwegs. Sie geht zurück, sobald sie eingeht.`,
  returned: (sum: string) => `${sum} sind danach eingegangen und gehen an den Käufer zurück.`,
  payouts: {
    held: 'Die Auszahlung ist angehalten, bis dies geklärt ist.',
    sent: 'Die Auszahlung war bereits gesendet.',
  } as Record<string, string>,
  fromDeposit: (sum: string) => `davon ${sum} aus der Kaution`,
  itemLine: (qty: string, unit: string) => `${qty} × ${unit}`,
  minutes: (minutes: string) => `${minutes} Min.`,
  runningSince: (time: string) => `Läuft seit ${time}`,
  newTab: 'öffnet in einem neuen Tab',
  erased: 'Der Inhalt wurde am Ende gelöscht.',
  openDocument: 'Dokument lesen',
  copyFingerprint: 'Fingerabdruck kopieren',
  copied: 'Kopiert',
  fingerprint: 'Fingerabdruck (SHA-256)',
  signers: 'Unterschriften',
  signerStates: {
    pending: 'noch nicht',
    signed: 'unterschrieben',
    declined: 'abgelehnt',
  } as Record<string, string>,
  quote: 'Bei einer Stornierung',
  cancelled: 'Storniert',
  quoteLine: (sum: string, percent: number) =>
    `${sum} gehen an die Käuferseite zurück (${percent}\u00a0%)`,
  quoteDone: (sum: string, percent: number) =>
    `${sum} gingen an die Käuferseite zurück (${percent}\u00a0%)`,
  depositDone: (sum: string) => `Die Kaution von ${sum} wurde zurückgegeben.`,
  quoteYours: (sum: string, percent: number) => `Sie bekommen ${sum} zurück (${percent}\u00a0%)`,
  quoteKept: (sum: string) => `${sum} bleiben bei der Verkäuferseite`,
  quoteBySeller: 'wer als Verkäuferseite storniert, gibt alles zurück',
  quoteNotice: (hours: number) =>
    hours > 0 ? `wie vereinbart ab ${notice(hours)} vorher` : 'wie vereinbart bei kurzer Frist',
  files: 'Dateien',
  filesCount: (count: number) => `${count} ${form(count, { one: 'Datei', other: 'Dateien' })}`,
  showFiles: 'Dateien zeigen',
  round: (round: number) => `Runde ${round}`,
  failure: (code: string) => `Die Zahlung ist fehlgeschlagen (${code.replaceAll('_', ' ')}).`,
  bankAsks: 'Ihre Bank möchte, dass Sie diese Zahlung bestätigen.',
  bankAsksHint: 'Vorher wird nichts abgebucht.',
  bankAsksBuyer: 'Die Bank des Käufers möchte, dass er diese Zahlung bestätigt.',
  confirmWithBank: 'Bei Ihrer Bank bestätigen',
  confirmOnSite: 'Bitte bestätigen Sie sie dort, wo Sie auf dieser Seite Ihre Zahlungen verwalten.',
  failures: {
    card_declined: 'Die Bank hat die Zahlung abgelehnt.',
    insufficient_funds: 'Das Konto ist nicht gedeckt.',
    expired_card: 'Die Karte ist abgelaufen.',
    incorrect_cvc: 'Die Prüfnummer der Karte ist falsch.',
    incorrect_number: 'Die Nummer der Karte ist falsch.',
    card_velocity_exceeded: 'Das Limit der Karte ist erreicht.',
    authentication_failed: 'Die Zahlung wurde bei der Bank nicht bestätigt.',
    confirmation_expired: 'Die Zahlung wurde bei der Bank nicht rechtzeitig bestätigt.',
    no_payment_method: 'Es ist kein Zahlungsmittel hinterlegt. Fügen Sie eines hinzu.',
  } as Record<string, string>,
  youPay: 'Das zahlen Sie',
  yes: 'Ja',
  no: 'Nein',

  names: {
    amount_cents: 'Betrag',
    buyer_payable: 'Das zahlt die Käuferseite',
    date: 'Datum',
    description: 'Beschreibung',
    document_id: 'Dokument',
    end: 'Ende',
    file_notes: 'Notizen zu einzelnen Bildern',
    gallery: 'Bilder',
    items: 'Posten',
    kind: 'Art',
    lat: 'Breitengrad',
    leg_id: 'Teil der Buchung',
    lon: 'Längengrad',
    manifest_id: 'Dateien',
    merchant: 'Bezahlt an',
    minutes: 'Minuten',
    note: 'Notiz',
    notes: 'Was sich ändern soll',
    option: 'Termin',
    options: 'Termine',
    percent: 'Prozent',
    place: 'Adresse oder Ort',
    qty: 'Anzahl',
    rate_cents_per_hour: 'Satz pro Stunde',
    reason: 'Grund',
    revision_notes: 'Gewünschte Änderungen',
    sha256: 'Fingerabdruck (SHA-256)',
    start: 'Beginn',
    timezone: 'Zeitzone des Termins',
    title: 'Was',
    unit_cents: 'Einzelpreis',
    until: 'Bis',
  } as Record<string, string>,

  newCard: 'Zu diesem Gespräch hinzufügen',
  groups: {
    likely: 'Jetzt naheliegend',
    time: 'Zeit und Ort',
    money: 'Geld',
    delivery: 'Lieferung und Dokumente',
    other: 'Weiteres',
    problems: 'Probleme',
  },
  newCardFailed: 'Das konnte nicht gesendet werden.',
  create: 'Senden',
  locating: 'Ihr Standort wird ermittelt …',

  booking: 'Buchung',
  showDetails: 'Details zeigen',
  hideDetails: 'Details ausblenden',
  moreLegs: (count: number) => `+${count} weitere`,
  sums: {
    agreed: (amount: string) => `${amount} vereinbart`,
    paid: (amount: string) => `${amount} gezahlt`,
    pending: (amount: string) => `${amount} in Zahlung`,
    open: (amount: string) => `${amount} offen`,
    failed: (amount: string) => `${amount} fehlgeschlagen`,
    refunded: (amount: string) => `${amount} erstattet`,
    kept: (amount: string) => `${amount} verwahrt`,
    paid_out: (amount: string) => `${amount} ausgezahlt`,
    held: (amount: string) => `${amount} hinterlegt`,
  },
  legStates: {
    proposed: 'Vorgeschlagen',
    confirmed: 'Bestätigt',
    in_progress: 'Läuft',
    completed: 'Abgeschlossen',
    cancelled: 'Storniert',
    disputed: 'Beanstandet',
  },
  timers: {
    leg_starts: (until: Until) => `Beginnt ${inOrOn(until)}`,
    leg_ends: (until: Until) => `Endet ${inOrOn(until)}`,
    review_ends: (until: Until) => `Prüfzeit endet ${inOrOn(until)}`,
    card_expires: ({ isNear, text }: Until) => `Antwort nötig ${isNear ? 'in' : 'bis'} ${text}`,
  },
};
