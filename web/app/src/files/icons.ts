/** Pictures of buttons that only files have; the others are in look/icons.ts. */

import { html, svg, type SVGTemplateResult, type TemplateResult } from 'lit';

const shapes = {
  clip: svg`<path d="M19 11.500l-7.300 7.300a4.600 4.600 0 0 1-6.500-6.500l7.800-7.800a3.100 3.100 0 0 1 4.400 4.400l-7.600 7.600a1.600 1.600 0 0 1-2.200-2.200l6.700-6.700" />`,
  microphone: svg`<path d="M12 3.500a2.700 2.700 0 0 1 2.700 2.700v5a2.700 2.700 0 0 1-5.400 0v-5A2.700 2.700 0 0 1 12 3.500zM6 11.200a6 6 0 0 0 12 0M12 17.200v3.300" />`,
  picture: svg`<path d="M4 5h16v14H4zM4 16l4.500-4.500 3.500 3.500 3-3 5 5" /><circle cx="9" cy="9" r="1.300" />`,
  play: svg`<path d="M8 5.500v13l10.500-6.500z" fill="currentcolor" />`,
  pause: svg`<path d="M8.500 6v12M15.500 6v12" stroke-width="3" />`,
  download: svg`<path d="M12 4v11M7 10.500l5 5 5-5M5 19.500h14" />`,
  eye: svg`<path d="M3 12c2.500-4.300 5.500-6.500 9-6.500s6.500 2.200 9 6.500c-2.500 4.300-5.500 6.500-9 6.500S5.500 16.300 3 12z" /><circle cx="12" cy="12" r="2.700" />`,
  hidden: svg`<path d="M5.500 8.500C4.600 9.500 3.800 10.600 3 12c2.500 4.300 5.500 6.500 9 6.500 1.500 0 2.900-.4 4.200-1.200M9.500 5.900c.8-.3 1.600-.4 2.500-.4 3.500 0 6.500 2.200 9 6.500-.6 1-1.200 1.900-1.900 2.600M4 4l16 16" />`,
  zoom: svg`<circle cx="11" cy="11" r="6.500" /><path d="M16 16l4.500 4.500M8.500 11h5M11 8.500v5" />`,
  shrink: svg`<circle cx="11" cy="11" r="6.500" /><path d="M16 16l4.500 4.500M8.500 11h5" />`,
} satisfies Record<string, SVGTemplateResult>;

export type FileIcon = keyof typeof shapes;

export function fileIcon(name: FileIcon): TemplateResult {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${shapes[name]}</svg>`;
}
