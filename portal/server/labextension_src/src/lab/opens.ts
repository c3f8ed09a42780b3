import { ILabShell, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';

import { askPortal } from '../base/api';

/** In the address of the page on which users land, see Settings.pages of the hub. */
const PARAMETER = 'opens';
const TERMINAL = 'Terminal';

/** Opens the terminal or the tool that the user has chosen on the hub's form. */
export const opensPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:opens',
  description: 'Opens what the user has chosen for the start.',
  autoStart: true,
  requires: [ILabShell],
  activate: (app: JupyterFrontEnd) => {
    // Before JupyterLab writes an address of its own.
    const name = new URLSearchParams(window.location.search).get(PARAMETER);
    if (name) {
      void app.restored.then(() => (name === TERMINAL ? openTerminal(app) : openTool(app, name)));
    }
  }
};

async function openTerminal({ commands, serviceManager }: JupyterFrontEnd): Promise<void> {
  const { terminals } = serviceManager;
  await terminals.ready;
  // The page may be opened again and again.
  const [running] = terminals.running();
  await commands.execute('terminal:open', running ? { name: running.name } : {});
}

/** In the place of this page: a browser refuses a new tab that nobody has clicked for. */
async function openTool({ serviceManager }: JupyterFrontEnd, name: string): Promise<void> {
  const tools = await askPortal<ReadonlyArray<{ title: string; url: string }>>(
    serviceManager.serverSettings,
    'tools'
  );
  const tool = tools.find(({ title }) => title === name);
  if (tool) {
    window.location.replace(tool.url);
  } else {
    Notification.warning(`This node does not have ${name}. The launcher shows what it has.`, {
      autoClose: false
    });
  }
}
