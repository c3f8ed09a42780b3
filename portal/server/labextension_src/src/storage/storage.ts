import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, showErrorMessage } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { folderIcon } from '@jupyterlab/ui-components';

import { askPortal } from '../base/api';
import { formatBytes } from '../base/format';
import { PALETTE_CATEGORY, TOOLS } from '../lab/palette';

const OPEN_STORAGE = 'data-scientist-portal:open-storage';

interface IStorage {
  readonly name: string;
  readonly path: string;
  readonly answers: boolean;
  readonly free_bytes?: number | null;
  readonly total_bytes?: number | null;
  readonly is_quota?: boolean;
}

/** Cards of the launcher that show the site's storages in the file browser. */
export const storagePlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:storage',
  description: "Shows the site's storages in the file browser.",
  autoStart: true,
  optional: [ILauncher, IDefaultFileBrowser, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    launcher: ILauncher | null,
    browser: IDefaultFileBrowser | null,
    palette: ICommandPalette | null
  ) => {
    if (browser === null) {
      return;
    }
    const open = async (name: string) => {
      app.shell.activateById(browser.id);
      await browser.model.cd(`/${name}`);
    };
    app.commands.addCommand(OPEN_STORAGE, {
      label: args => String(args.name ?? 'Storage'),
      caption: args => String(args.caption ?? ''),
      icon: folderIcon,
      isEnabled: args => args.answers !== false,
      execute: args =>
        void open(String(args.name)).catch(error => showErrorMessage('Storage', error as Error))
    });
    void askPortal<{ storages: IStorage[] }>(app.serviceManager.serverSettings, 'storage').then(
      ({ storages }) =>
        storages.forEach((one, rank) => {
          const args = { name: one.name, answers: one.answers, caption: caption(one) };
          launcher?.add({ command: OPEN_STORAGE, args, ...TOOLS, rank: 50 + rank });
          palette?.addItem({ command: OPEN_STORAGE, args, category: PALETTE_CATEGORY });
        }),
      error => console.warn('The storages cannot be listed', error)
    );
  }
};

function caption({ path, answers, free_bytes, total_bytes, is_quota }: IStorage): string {
  if (!answers) {
    return `${path} is not responding. If this continues, tell the administrators.`;
  }
  if (typeof free_bytes !== 'number' || typeof total_bytes !== 'number') {
    return path;
  }
  const kind = is_quota ? 'of your quota of' : 'of';
  return `${path}: ${formatBytes(free_bytes)} free ${kind} ${formatBytes(total_bytes)}`;
}
