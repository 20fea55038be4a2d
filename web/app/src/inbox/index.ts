/** `<greenroom-inbox>`, `<greenroom-unread>` and `<greenroom-connection>`. */

export { GreenroomConnection } from './connection.ts';
export { GreenroomInbox } from './inbox.ts';
export { GreenroomUnread } from './unread.ts';
