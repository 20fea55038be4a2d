/** Two entries: the pages of `/app`, and `/embed.js`, whose name never changes. */

import { fileURLToPath, URL } from 'node:url';

import { defineConfig } from 'vite';

import { minifyTemplates } from './minify_templates.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const server = process.env['GREENROOM_DEV_SERVER'] ?? 'http://127.0.0.1:8000';

/** Modules that are shared, but only by parts which come later. */
const NOT_LATER =
  /^(?!.*(look\/dialog|i18n\/(en\/)?(people|files|history)|src\/(cards|files)\/|sdk\/src\/(files|put|upload)))/;

export default defineConfig({
  plugins: [minifyTemplates()],
  resolve: { alias: { '@greenroom/sdk': here('../sdk/src/index.ts') } },
  build: {
    outDir: here('../../greenroom/webapp/static'),
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: {
      polyfill: false,
      // For our own pages. The helper of lazy parts would look for them on the host page's site.
      resolveDependencies: (_, parts, { hostType }) => (hostType === 'html' ? parts : []),
    },
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: { app: here('index.html'), host: here('host.html'), embed: here('src/embed.ts') },
      // The embed is an entry for its exports as well: pages import `configure` from it.
      preserveEntrySignatures: 'strict',
      output: {
        // One file of what all parts share: fewer steps until the last one is there.
        // Vite's helper for lazy parts is not in it: the host page's own script has it too, and would
        // bring all of the core from its own site a second time.
        codeSplitting: {
          groups: [
            { name: 'lazy', test: /preload-helper/, priority: 2 },
            // Several parts share dialogs, files and words for people, but all of them come later.
            { name: 'core', minShareCount: 2, test: NOT_LATER, priority: 1 },
            // Cards are in threads and in the panel: one file of what both draw them with.
            { name: 'cards', minShareCount: 2, test: /src\/cards\// },
          ],
        },
        entryFileNames: ({ name }) =>
          name === 'embed' ? 'embed.js' : 'app/assets/[name]-[hash].js',
        chunkFileNames: 'app/assets/[name]-[hash].js',
        assetFileNames: 'app/assets/[name]-[hash][extname]',
      },
    },
  },
  server: {
    proxy: {
      '/v1': { target: server, ws: true },
      '/demo': server,
    },
  },
});
