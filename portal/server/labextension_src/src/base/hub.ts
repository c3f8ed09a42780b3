import { PageConfig, URLExt } from '@jupyterlab/coreutils';

/** The address of a page of the hub, or null for a server without one. */
export function hubUrl(page: string): string | null {
  const prefix = PageConfig.getOption('hubPrefix');
  return prefix ? PageConfig.getOption('hubHost') + URLExt.join(prefix, page) : null;
}
