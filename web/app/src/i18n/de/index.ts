import type { Words } from '../index.ts';
import { cards } from './cards.ts';
import { inbox } from './inbox.ts';
import { look } from './look.ts';
import { thread } from './thread.ts';

export const de: Words = { cards, inbox, look, thread };
