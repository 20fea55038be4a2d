export { GreenroomPanel } from './panel.ts';
