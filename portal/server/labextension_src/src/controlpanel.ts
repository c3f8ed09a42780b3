import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import { ToolbarButton } from '@jupyterlab/ui-components';

/** The button at the top right that leads to the page where the session is stopped. */
export const controlPanelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:control-panel',
  description: 'Adds a Control Panel button that opens the hub.',
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    const prefix = PageConfig.getOption('hubPrefix');
    if (!prefix) {
      return;
    }
    const url = PageConfig.getOption('hubHost') + URLExt.join(prefix, 'home');
    const button = new ToolbarButton({
      label: 'Control Panel',
      tooltip: 'Stop the session, or start another one',
      onClick: () => void window.open(url, '_blank')
    });
    button.id = 'data-scientist-portal-control-panel';
    button.node.style.alignSelf = 'center';
    app.shell.add(button, 'top', { rank: 10_000 });
  }
};
