import { JupyterFrontEnd } from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { Menu, MenuBar } from '@lumino/widgets';

/** Add an item to the New menu of Notebook's file list; JupyterLab has no such menu. */
export function addToNewMenu(
  app: JupyterFrontEnd,
  browser: IDefaultFileBrowser,
  toolbars: IToolbarWidgetRegistry,
  item: Menu.IItemOptions
): void {
  void app.restored.then(() => {
    // Every bar that Notebook makes for the New menu holds the one menu; JupyterLab makes a spacer.
    const place = { name: 'new-dropdown', type: 'spacer' as const };
    const bar = toolbars.createWidget('FileBrowser', browser, place);
    const menu = bar instanceof MenuBar ? bar.menus[0] : null;
    bar.dispose();
    if (!menu) {
      return;
    }
    const add = () => menu.addItem(item);
    add();
    // Notebook fills the menu again whenever the kernels change.
    app.serviceManager.kernelspecs.specsChanged.connect(add);
  });
}
