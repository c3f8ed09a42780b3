import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';

import { OPEN_JOBS } from './jobs';
import { addToNewMenu } from './newitem';
import { ASK_FOR_FOLDER, OPEN_TENSORBOARD } from './tensorboard';

/** "TensorBoard" and "Slurm Jobs" in the New menu of Notebook's file list. */
export const newMenuPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:new-menu',
  description: 'Adds TensorBoard and Slurm Jobs to the New menu of Jupyter Notebook.',
  autoStart: true,
  requires: [IDefaultFileBrowser, IToolbarWidgetRegistry],
  activate: (
    app: JupyterFrontEnd,
    browser: IDefaultFileBrowser,
    toolbars: IToolbarWidgetRegistry
  ) => {
    addToNewMenu(app, browser, toolbars, { command: OPEN_TENSORBOARD, args: ASK_FOR_FOLDER });
    addToNewMenu(app, browser, toolbars, { command: OPEN_JOBS });
  }
};
