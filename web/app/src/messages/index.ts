export { GreenroomMessages } from './messages.ts';
