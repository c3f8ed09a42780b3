import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import { ToolbarButton } from '@jupyterlab/ui-components';

import { PALETTE_CATEGORY } from './palette';

const OPEN_CONTROL_PANEL = 'data-scientist-portal:open-control-panel';

/** The button at the top right that leads to the page where the session is stopped. */
export const controlPanelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:control-panel',
  description: 'Adds a Control Panel button that opens the hub.',
  autoStart: true,
  optional: [ICommandPalette],
  activate: (app: JupyterFrontEnd, palette: ICommandPalette | null) => {
    const prefix = PageConfig.getOption('hubPrefix');
    if (!prefix) {
      return;
    }
    const url = PageConfig.getOption('hubHost') + URLExt.join(prefix, 'home');
    const label = 'Control Panel';
    const caption = 'Stop the session, or start another one';
    const open = () => void window.open(url, '_blank');
    app.commands.addCommand(OPEN_CONTROL_PANEL, { label, caption, execute: open });
    palette?.addItem({ command: OPEN_CONTROL_PANEL, category: PALETTE_CATEGORY });
    const button = new ToolbarButton({ label, tooltip: caption, onClick: open });
    button.id = 'data-scientist-portal-control-panel';
    button.node.style.alignSelf = 'center';
    app.shell.add(button, 'top', { rank: 10_000 });
  }
};
