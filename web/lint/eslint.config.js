/** Rules with type information for all TypeScript, and rules for templates of Lit. */

import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import { configs as lit } from 'eslint-plugin-lit';
import tseslint from 'typescript-eslint';

export default defineConfig(
  { ignores: ['**/node_modules/**', '**/dist/**', 'sdk/src/openapi.ts'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['app/tsconfig.json', 'sdk/tsconfig.test.json'],
        tsconfigRootDir: `${import.meta.dirname}/..`,
      },
    },
    rules: {
      // `() => clearTimeout(timer)`: a call whose result nobody takes.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        {
          ignoreArrowShorthand: true,
          ignoreVoidOperator: true,
          ignoreVoidReturningFunctions: true,
        },
      ],
      // `.catch(() => {})`: what fails is told elsewhere.
      '@typescript-eslint/no-empty-function': ['error', { allow: ['arrowFunctions'] }],
      // Fields of an index signature are written in brackets: they may be missing.
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // An empty text counts as none, so `||` is what is meant.
      '@typescript-eslint/prefer-nullish-coalescing': [
        'error',
        { ignorePrimitives: { string: true } },
      ],
      // The server counts code points, and so does `[...text]`.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // It takes a field for unchanged after `await`, and what old browsers lack for given.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // `parse<Send[]>(text)` says more than an assertion at each call.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // It asks for `!`, which `no-non-null-assertion` forbids.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', package: 'node:test', name: ['test', 'describe', 'it'] },
          ],
        },
      ],
    },
  },
  {
    files: ['*/test/**/*.ts'],
    rules: {
      // A test that finds nothing fails anyway.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Fakes keep the signature of what they stand for.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-this-alias': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      // Bodies of requests are texts here, and steps of a story may or may not be asynchronous.
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/await-thenable': 'off',
    },
  },
  { files: ['app/src/**/*.ts'], extends: [lit['flat/recommended']] },
);
