import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { ILauncher } from '@jupyterlab/launcher';

import { guideUrl } from '../base/guide';
import { helpIcon } from '../base/icon';
import { PALETTE_CATEGORY, TOOLS } from './palette';

const OPEN_HELP = 'data-scientist-portal:open-help';
const CONNECT_EDITOR = 'data-scientist-portal:connect-editor';

/** The users' guide and that to ssh, which the hub serves: Help menu, launcher, palette. */
export const helpPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:help',
  description: "Opens the portal's guide.",
  autoStart: true,
  optional: [ILauncher, ICommandPalette],
  activate: (app: JupyterFrontEnd, launcher: ILauncher | null, palette: ICommandPalette | null) => {
    const url = guideUrl();
    app.commands.addCommand(OPEN_HELP, {
      // Who types "help" into the palette gets the items that begin with it first.
      label: args => (args['isPalette'] ? 'Help: Portal Guide' : 'Portal Guide'),
      caption:
        'Help: how to train, watch, submit, install packages, and what to do if something fails',
      icon: helpIcon,
      isVisible: () => url !== null,
      execute: () => void window.open(url ?? '', '_blank')
    });
    const sshUrl = PageConfig.getOption('portalSsh') ? guideUrl('ssh') : null;
    app.commands.addCommand(CONNECT_EDITOR, {
      label: 'Connect Your Own Editor…',
      caption: 'VS Code, PyCharm or ssh on your own machine, in this session',
      isVisible: () => sshUrl !== null,
      execute: () => void window.open(sshUrl ?? '', '_blank')
    });
    if (sshUrl !== null) {
      palette?.addItem({ command: CONNECT_EDITOR, category: PALETTE_CATEGORY });
    }
    if (url !== null) {
      launcher?.add({ command: OPEN_HELP, ...TOOLS, rank: 9 });
      palette?.addItem({
        command: OPEN_HELP,
        category: PALETTE_CATEGORY,
        args: { isPalette: true }
      });
    }
  }
};
