export const place = {
  openMap: 'Open in maps',
  howFar: 'How far is it?',
  you: 'You',
  rightHere: 'Right where you are',
  away: (distance: string, direction: string) => `${distance} ${direction} of you`,
  directions: {
    n: 'north',
    ne: 'north-east',
    e: 'east',
    se: 'south-east',
    s: 'south',
    sw: 'south-west',
    w: 'west',
    nw: 'north-west',
  },
  directionSigns: { n: 'N' },
  noOwnPosition: 'Your position is not available. Allow it in the browser and try again.',
};
