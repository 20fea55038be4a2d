export const look = {
  close: 'Close',
  cancel: 'Cancel',
  retry: 'Try again',
  loading: 'Loading…',
  unreachable: 'The server does not answer. Check your connection and try again.',
};
