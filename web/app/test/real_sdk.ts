/** Lets a test import the client's own source, whose files name each other as they are built. */

import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) => {
    const isSdk = context.parentURL?.includes('/web/sdk/') && specifier.startsWith('.');
    return next(isSdk ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
