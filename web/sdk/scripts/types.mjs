/** Writes src/openapi.ts from the server's OpenAPI document: `greenroom openapi | node scripts/types.mjs`.
 *
 * The document is read from the file named as the first argument, else from stdin. The types are
 * written to the file named as the second one, else to src/openapi.ts. */

import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';

const [source = '-', target = fileURLToPath(new URL('../src/openapi.ts', import.meta.url))] =
  process.argv.slice(2);
const read = source === '-' ? text(process.stdin) : readFile(source, 'utf8');
const document = JSON.parse(await read);
const { schemas } = document.components;

// Calls are written by hand in rest.ts; what they send and get is what must not drift.
const nodes = await openapiTS(
  { ...document, paths: {}, components: { schemas } },
  { alphabetize: true, emptyObjectsUnknown: true },
);
const banner =
  "/** Generated from the server's OpenAPI document by `make types`: do not edit. */\n\n";
await writeFile(target, banner + astToString(nodes));
