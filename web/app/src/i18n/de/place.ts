import type { PlaceWords } from '../place.ts';

export const place: PlaceWords = {
  openMap: 'In Karten öffnen',
  howFar: 'Wie weit ist das?',
  you: 'Sie',
  rightHere: 'Genau wo Sie sind',
  away: (distance: string, direction: string) => `${distance} ${direction} von Ihnen`,
  directions: {
    n: 'nördlich',
    ne: 'nordöstlich',
    e: 'östlich',
    se: 'südöstlich',
    s: 'südlich',
    sw: 'südwestlich',
    w: 'westlich',
    nw: 'nordwestlich',
  },
  directionSigns: { n: 'N' },
  noOwnPosition:
    'Ihr Standort ist nicht verfügbar. Erlauben Sie ihn im Browser und versuchen Sie es erneut.',
};
