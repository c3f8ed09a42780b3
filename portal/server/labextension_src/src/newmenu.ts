import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { MenuBar } from '@lumino/widgets';

import { ASK_FOR_FOLDER, OPEN_TENSORBOARD } from './tensorboard';

/** "TensorBoard" in the New menu of Notebook's file list. */
export const newMenuPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:new-menu',
  description: 'Adds TensorBoard to the New menu of Jupyter Notebook.',
  autoStart: true,
  requires: [IDefaultFileBrowser, IToolbarWidgetRegistry],
  activate: (
    app: JupyterFrontEnd,
    browser: IDefaultFileBrowser,
    toolbars: IToolbarWidgetRegistry
  ) => {
    void app.restored.then(() => {
      // Every bar that Notebook makes for the New menu holds the one menu; JupyterLab makes a spacer.
      const item = { name: 'new-dropdown', type: 'spacer' as const };
      const bar = toolbars.createWidget('FileBrowser', browser, item);
      const menu = bar instanceof MenuBar ? bar.menus[0] : null;
      bar.dispose();
      if (!menu) {
        return;
      }
      const add = () => menu.addItem({ command: OPEN_TENSORBOARD, args: ASK_FOR_FOLDER });
      add();
      // Notebook fills the menu anew whenever the kernels change.
      app.serviceManager.kernelspecs.specsChanged.connect(add);
    });
  }
};
