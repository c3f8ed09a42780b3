import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ToolbarButton } from '@jupyterlab/ui-components';

import { guideUrl } from '../base/guide';
import { hubUrl } from '../base/hub';
import { PALETTE_CATEGORY } from './palette';

const OPEN_CONTROL_PANEL = 'data-scientist-portal:open-control-panel';
const SIGN_OUT = 'data-scientist-portal:sign-out';

/**
 * The button at the top right that leads to the page where the session is stopped, and the items of
 * the File menu in place of JupyterHub's own, which sign out without a word of what keeps running.
 */
export const controlPanelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:control-panel',
  description: 'Adds a Control Panel button that opens the hub, and a way to sign out.',
  autoStart: true,
  optional: [ICommandPalette],
  activate: (app: JupyterFrontEnd, palette: ICommandPalette | null) => {
    const url = hubUrl('home');
    // A hub of a site's own has neither the guide nor that page.
    const signOut = hubUrl(guideUrl() === null ? 'logout' : 'portal/sign-out');
    if (url === null || signOut === null) {
      return;
    }
    const label = 'Control Panel';
    const caption = 'Stop the session, or start another one';
    const open = () => void window.open(url, '_blank');
    app.commands.addCommand(OPEN_CONTROL_PANEL, { label, caption, execute: open });
    app.commands.addCommand(SIGN_OUT, {
      label: 'Log Out',
      caption: 'Sign out of the portal; what keeps running is shown first',
      // The browser asks if something is not saved.
      execute: () => void (window.location.href = signOut)
    });
    [OPEN_CONTROL_PANEL, SIGN_OUT].forEach(command =>
      palette?.addItem({ command, category: PALETTE_CATEGORY })
    );
    const button = new ToolbarButton({ label, tooltip: caption, onClick: open });
    button.id = 'data-scientist-portal-control-panel';
    button.node.style.alignSelf = 'center';
    app.shell.add(button, 'top', { rank: 10_000 });
  }
};
