/** Indentation inside templates is for us; a page does without. */

import { parseSync, type Plugin } from 'vite';

interface Node {
  type: string;
  start: number;
  end: number;
  tag?: { name?: string };
  quasi?: { quasis: Node[] };
}

const TRIMMED: Record<string, (text: string) => string> = {
  css: (text) =>
    text
      .replace(/\/\*[^]*?\*\//g, '')
      .replace(/\s+/g, ' ')
      .replace(/ ?([{};,]) ?/g, '$1')
      .replace(/: /g, ':')
      .replace(/;}/g, '}'),
  html: (text) => text.replace(/\s*\n\s*/g, ' '),
  svg: (text) => text.replace(/\s*\n\s*/g, ' '),
};

export function minifyTemplates(): Plugin {
  return {
    name: 'minify-templates',
    enforce: 'post',
    apply: 'build',
    transform(code, id) {
      if (!/\/src\/.*\.ts$/.test(id)) return null;
      // From the end, so that the places before stay where they are.
      const parts = [...templateParts(parseSync(id, code).program)].reverse();
      let trimmed = code;
      for (const { start, end, trim } of parts) {
        trimmed = trimmed.slice(0, start) + trim(trimmed.slice(start, end)) + trimmed.slice(end);
      }
      return { code: trimmed, map: null };
    },
  };
}

function* templateParts(
  node: Node,
): Generator<{ start: number; end: number; trim: (text: string) => string }> {
  const trim = TRIMMED[node.tag?.name ?? ''];
  const own = node.type === 'TaggedTemplateExpression' && trim ? (node.quasi?.quasis ?? []) : [];
  const children = Object.values(node).flat().filter(isNode);
  const inside = [
    ...own.map(({ start, end }) => ({ start, end, trim: trim as (text: string) => string })),
    ...children.flatMap((child) => [...templateParts(child)]),
  ];
  yield* inside.sort((one, other) => one.start - other.start);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
