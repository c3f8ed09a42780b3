import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';

import { runsIcon } from '../base/icon';
import { RunsPanel } from '../jobs/panel';
import { PALETTE_CATEGORY } from '../lab/palette';

export const OPEN_RUNS = 'data-scientist-portal:open-runs';

/** The user's runs: a panel in JupyterLab's sidebar, or a tab of the browser beside Notebook. */
export const runsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:runs',
  description: 'Lists, follows, names, stops and removes the trainings that run() has started.',
  autoStart: true,
  optional: [ICommandPalette, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null
  ) => {
    const { commands, serviceManager } = app;
    const settings = serviceManager.serverSettings;
    const isNotebook = PageConfig.getOption('notebookPage') !== '';
    const panel = isNotebook ? null : new RunsPanel(settings);
    if (panel) {
      app.shell.add(panel, 'left', { rank: 250 });
      // Else a page that was left with this panel in front comes back without a sidebar.
      restorer?.add(panel, panel.id);
    }
    commands.addCommand(OPEN_RUNS, {
      label: 'Runs',
      caption: 'The trainings that run() has started: progress, output, result, stop',
      icon: runsIcon,
      execute: () => {
        if (panel) {
          app.shell.activateById(panel.id);
        } else {
          window.open(URLExt.join(settings.baseUrl, 'portal/runs'), '_blank');
        }
      }
    });
    palette?.addItem({ command: OPEN_RUNS, category: PALETTE_CATEGORY });
  }
};
