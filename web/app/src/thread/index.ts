/** One conversation: `<greenroom-thread>` and what it is made of. */

import '../look/avatar.ts';
import '../look/menu.ts';
import './composer.ts';
import './header.ts';
import './timeline_view.ts';

export { GreenroomThread } from './thread.ts';
