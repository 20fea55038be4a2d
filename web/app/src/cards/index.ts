/** Cards: in the timeline, made anew, and over the messages of a booking. */

import '../look/menu.ts';
import './booking_header.ts';
import './card.ts';
import './new_card.ts';

export type { GreenroomBookingHeader } from './booking_header.ts';
export type { GreenroomCard } from './card.ts';
export type { GreenroomNewCard } from './new_card.ts';
