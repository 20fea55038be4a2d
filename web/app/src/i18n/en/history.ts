/** Who did it; null is the reader. */
type Doer = string | null;
const past =
  (what: string) =>
  (who: Doer): string =>
    `${who ?? 'You'} ${what}`;

export const history = {
  historyFailed: 'The history could not be loaded.',
  version: (version: number) => `Version ${version}`,
  byItself: 'By itself',
  acts: {
    create: past('made this'),
    accept: past('accepted'),
    approve: past('approved'),
    auto_accept: () => 'Accepted after the review time',
    charge_failed: () => 'The payment that was under way failed',
    charge_returned: () => 'A payment came in late and goes back',
    close: () => 'Closed with the booking',
    confirm: past('confirmed'),
    counter: past('made another proposal'),
    decline: past('declined'),
    dispute: past('disputed it'),
    end: past('ended it'),
    escalate: past('asked the team'),
    expire: () => 'The time was over',
    failed: () => 'The payment failed',
    request_revision: past('asked for changes'),
    resubmit: past('delivered again'),
    retry: past('tried again'),
    run_out: () => 'The clock stopped by itself',
    sign: past('signed'),
    stop: past('stopped the clock'),
    succeeded: () => 'The payment went through',
    withdraw: past('withdrew it'),
  } as Record<string, (who: Doer) => string>,
  otherAct: (who: Doer, label: string) => `${who ?? 'You'}: ${label}`,
};
