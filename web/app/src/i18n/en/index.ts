import { cards } from './cards.ts';
import { inbox } from './inbox.ts';
import { look } from './look.ts';
import { panel } from './panel.ts';
import { shell } from './shell.ts';
import { thread } from './thread.ts';

export const en = { cards, inbox, look, panel, shell, thread };
