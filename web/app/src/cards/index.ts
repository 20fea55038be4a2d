/** Cards: in the timeline, and over the messages of a booking. What makes them comes with the composer. */

import '../look/menu.ts';
import './card.ts';

export type { GreenroomBookingHeader } from './booking_header.ts';
export type { GreenroomCard } from './card.ts';
export type { GreenroomNewCard } from './new_card.ts';
