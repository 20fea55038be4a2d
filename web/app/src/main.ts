/** The pages of `/app`. */

import './embed.ts';
import './shell/app.ts';
