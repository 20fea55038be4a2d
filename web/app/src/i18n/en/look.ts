export const look = {
  close: 'Close',
  cancel: 'Cancel',
  retry: 'Try again',
  loading: 'Loading…',
  notSignedIn: 'You are not signed in here. Sign in, and your messages appear.',
  unreachable: 'The server does not answer. Check your connection and try again.',
};
