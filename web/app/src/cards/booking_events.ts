/** Which events may change what is shown of a booking: its state, its money, its cards. */

import type { FeedEvent } from '@greenroom/sdk';

/** Cards and notices ("The booking is confirmed") come as messages; what people write does not
 * change a booking. */
export function isAboutBooking({ type, message }: FeedEvent): boolean {
  if (type === 'card.changed' || type === 'thread.changed') return true;
  return message?.kind === 'card' || message?.kind === 'system';
}
