/** What no reviewer should have to look for: each rule says why. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const SOURCE = new URL('../src/', import.meta.url);
const AUDITED = 'thread/rich_text.ts';

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(new URL(name, SOURCE), 'utf8') }));

function linesWith(pattern: RegExp, except = ''): string[] {
  return files
    .filter(({ name }) => name !== except)
    .flatMap(({ name, text }) =>
      text
        .split('\n')
        .map((line, at) => ({ line, where: `${name}:${at + 1}` }))
        .filter(({ line }) => pattern.test(line))
        .map(({ line, where }) => `${where} ${line.trim()}`),
    );
}

test('HTML from elsewhere becomes part of the page in one audited place only', () => {
  const ways =
    /innerHTML|outerHTML|insertAdjacentHTML|setHTML|unsafeHTML|unsafeSVG|unsafeStatic|DOMParser|createContextualFragment|document\.write|srcdoc|createPolicy/;
  assert.deepEqual(linesWith(ways, AUDITED), []);
  assert.ok(files.some(({ name }) => name === AUDITED));
});

test('nothing is evaluated from text', () => {
  assert.deepEqual(linesWith(/\beval\(|new Function\(|setTimeout\(\s*['"`]|javascript:/), []);
});

test('no style attribute is written: a strict policy drops it', () => {
  assert.deepEqual(linesWith(/\sstyle=|styleMap|setAttribute\(\s*['"]style/), []);
});

test('sides are named by the direction of the text, so that both directions work', () => {
  const physical =
    /^\s*(margin|padding|border)-(left|right)\b|^\s*(left|right):[^,]*;$|text-align:\s*(left|right)|float:/;
  assert.deepEqual(linesWith(physical), []);
});

test('links that open elsewhere do not hand over the page', () => {
  const open = files.flatMap(({ name, text }) =>
    [...text.matchAll(/<a\b[^>]*target="_blank"[^>]*>/g)]
      .filter(([tag]) => !/rel="[^"]*noopener/.test(tag))
      .map(([tag]) => `${name}: ${tag}`),
  );
  assert.deepEqual(open, []);
});
