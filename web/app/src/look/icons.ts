/** Drawn here on a grid of 24; they take the colour of the text around them. */

import { html, svg, type SVGTemplateResult, type TemplateResult } from 'lit';

const shapes = {
  back: svg`<path d="M15 5l-7 7 7 7" />`,
  forward: svg`<path d="M9 5l7 7-7 7" />`,
  down: svg`<path d="M12 5v14M6 13l6 6 6-6" />`,
  chevron: svg`<path d="M6 9l6 6 6-6" />`,
  close: svg`<path d="M6 6l12 12M18 6L6 18" />`,
  plus: svg`<path d="M12 5v14M5 12h14" />`,
  minus: svg`<path d="M5 12h14" />`,
  send: svg`<path d="M5 12l15-7-5 15-3-6-7-2z" />`,
  search: svg`<circle cx="11" cy="11" r="6.5" /><path d="M16 16l4.5 4.5" />`,
  filter: svg`<path d="M4 7h16M7 12h10M10 17h4" />`,
  more: svg`<path d="M5.5 12h.01M12 12h.01M18.5 12h.01" stroke-width="3" />`,
  edit: svg`<path d="M4 20l1-4L16 5l3 3L8 19l-4 1zM14 7l3 3" />`,
  bin: svg`<path d="M5 7h14M9 7V4.5h6V7M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5" />`,
  reply: svg`<path d="M10 6l-6 5 6 5v-3c5 0 8 1.500 10 5 0-6-4-9-10-9V6z" />`,
  copy: svg`<path d="M8 8h11v12H8zM5 16V4h11" />`,
  pin: svg`<path d="M9 4h6l-1 6 3 3H7l3-3-1-6zM12 13v7" />`,
  star: svg`<path d="M12 4l2.400 5.200 5.600.600-4.200 3.800 1.200 5.600L12 16.300 7 19.200l1.200-5.600L4 9.800l5.600-.6z" />`,
  bell: svg`<path d="M6 16V11a6 6 0 0 1 12 0v5l1.500 2h-15zM10 20.500h4" />`,
  muted: svg`<path d="M6 16V11a6 6 0 0 1 9-5.200M18 11v5l1.500 2h-15M10 20.500h4M4 4l16 16" />`,
  archive: svg`<path d="M4 5h16v4H4zM5.500 9v10h13V9M10 13h4" />`,
  inbox: svg`<path d="M4 13l3-8h10l3 8v6H4zM4 13h5l1 2.500h4l1-2.500h5" />`,
  panel: svg`<path d="M4 5h16v14H4zM14.500 5v14" />`,
  calendar: svg`<path d="M4.500 6h15v14h-15zM4.500 10h15M8.500 3.500V7M15.500 3.500V7" />`,
  clock: svg`<circle cx="12" cy="12" r="8" /><path d="M12 7.500V12l3 2" />`,
  money: svg`<path d="M3.500 7h17v10h-17zM7 7v10M17 7v10" /><circle cx="12" cy="12" r="2" />`,
  document: svg`<path d="M7 3.500h7l4 4v13H7zM14 3.500v4h4M10 12h5M10 16h5" />`,
  place: svg`<path d="M12 21c-4-5-6.500-8-6.500-11a6.500 6.500 0 0 1 13 0c0 3-2.500 6-6.500 11z" /><circle cx="12" cy="10" r="2.300" />`,
  check: svg`<path d="M5 12.500l4.500 4.500L19 7" />`,
  warning: svg`<path d="M12 4.500l8.500 15h-17zM12 10v4.500M12 17h.01" />`,
  info: svg`<circle cx="12" cy="12" r="8" /><path d="M12 11v5M12 8h.01" />`,
  history: svg`<path d="M4.500 12a7.500 7.500 0 1 0 2.500-5.600L4.500 8.500M4.500 4.500v4h4M12 8v4.500l3 1.500" />`,
  brief: svg`<path d="M5 4.500h14v15H5zM8.500 9h7M8.500 12.500h7M8.500 16h4" />`,
  board: svg`<path d="M4 4.500h7v9H4zM13 4.500h7v5h-7zM13 11.500h7v8h-7zM4 15.500h7v4H4z" />`,
  list: svg`<path d="M9 6.500h11M9 12h11M9 17.500h11M4 6.500l1 1 1.700-2M4 12l1 1 1.700-2M4 17.500l1 1 1.700-2" />`,
  camera: svg`<path d="M4 8h3.500l1.500-2.500h6L16.500 8H20v11H4z" /><circle cx="12" cy="13" r="3.300" />`,
  files: svg`<path d="M4 6h6l2 2.500h8V19H4z" />`,
  person: svg`<circle cx="12" cy="8" r="3.700" /><path d="M5 20c.700-4 3.500-6 7-6s6.300 2 7 6" />`,
  leave: svg`<path d="M14 4.500H5v15h9M10 12h10M16.500 8.500L20 12l-3.500 3.500" />`,
  retry: svg`<path d="M19.500 12A7.500 7.500 0 1 1 17 6.400L19.500 8.500M19.500 4.500v4h-4" />`,
} satisfies Record<string, SVGTemplateResult>;

export type IconName = keyof typeof shapes;

/** Those that point somewhere turn round where text runs from right to left. */
const TURNING: ReadonlySet<IconName> = new Set([
  'back',
  'forward',
  'send',
  'reply',
  'leave',
  'panel',
]);

export function icon(name: IconName): TemplateResult {
  const classes = TURNING.has(name) ? 'icon turns' : 'icon';
  return html`<svg class=${classes} viewBox="0 0 24 24" aria-hidden="true">${shapes[name]}</svg>`;
}
