import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';

import { NEW_ENVIRONMENT } from './environments';
import { OPEN_JOBS } from './jobs';
import { addToNewMenu } from './newitem';
import { OPEN_RUNS } from './runs';
import { ASK_FOR_FOLDER, OPEN_TENSORBOARD } from './tensorboard';

/** "TensorBoard", "Slurm Jobs", "Runs" and "New Environment …" in the New menu of Notebook's file list. */
export const newMenuPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:new-menu',
  description:
    'Adds TensorBoard, Slurm Jobs, Runs and New Environment to the New menu of Jupyter Notebook.',
  autoStart: true,
  requires: [IDefaultFileBrowser, IToolbarWidgetRegistry],
  activate: (
    app: JupyterFrontEnd,
    browser: IDefaultFileBrowser,
    toolbars: IToolbarWidgetRegistry
  ) => {
    addToNewMenu(app, browser, toolbars, { command: OPEN_TENSORBOARD, args: ASK_FOR_FOLDER });
    addToNewMenu(app, browser, toolbars, { command: OPEN_JOBS });
    addToNewMenu(app, browser, toolbars, { command: OPEN_RUNS });
    addToNewMenu(app, browser, toolbars, { command: NEW_ENVIRONMENT });
  }
};
