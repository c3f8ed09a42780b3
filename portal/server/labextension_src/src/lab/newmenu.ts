import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';

import { NEW_ENVIRONMENT } from '../environments/environments';
import { OPEN_JOBS } from '../jobs/jobs';
import { addToNewMenu } from '../base/newitem';
import { addStyle } from '../base/style';
import { hasMlflow, OPEN_MLFLOW } from '../viewers/mlflow';
import { OPEN_TENSORBOARD } from '../viewers/tensorboard';
import { ASK_FOR_FOLDER } from '../viewers/viewer';

/** Notebook's icons stand above the middle of their lines. */
const STYLE = '.lm-Menu-itemIcon > svg { vertical-align: middle; }';

/** "TensorBoard", "MLflow", "Jobs and Runs" and "New Environment…" in the New menu of Notebook's file list. */
export const newMenuPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:new-menu',
  description:
    'Adds TensorBoard, MLflow, Jobs and Runs and New Environment to the New menu of Jupyter Notebook.',
  autoStart: true,
  requires: [IDefaultFileBrowser, IToolbarWidgetRegistry],
  activate: (
    app: JupyterFrontEnd,
    browser: IDefaultFileBrowser,
    toolbars: IToolbarWidgetRegistry
  ) => {
    addStyle('data-scientist-portal-new-menu', STYLE);
    addToNewMenu(app, browser, toolbars, { command: OPEN_TENSORBOARD, args: ASK_FOR_FOLDER });
    if (hasMlflow()) {
      addToNewMenu(app, browser, toolbars, { command: OPEN_MLFLOW, args: ASK_FOR_FOLDER });
    }
    addToNewMenu(app, browser, toolbars, { command: OPEN_JOBS });
    addToNewMenu(app, browser, toolbars, { command: NEW_ENVIRONMENT });
  }
};
