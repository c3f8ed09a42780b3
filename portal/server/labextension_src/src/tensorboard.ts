import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';

import { tensorBoardIcon } from './icon';
import { PALETTE_CATEGORY } from './palette';
import { TensorBoardClient } from './tensorboardclient';
import { ASK_FOR_FOLDER, askForFolder, foldersOf, openFolders } from './viewer';

export const OPEN_TENSORBOARD = 'data-scientist-portal:open-tensorboard';

const TITLE = 'TensorBoard';

/** The command "Open TensorBoard", its button, context menu item and launcher card. */
export const tensorBoardPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:tensorboard',
  description: 'Opens the selected folders in TensorBoard, in a tab of their own.',
  autoStart: true,
  optional: [
    IFileBrowserFactory,
    IDefaultFileBrowser,
    IDocumentManager,
    ILauncher,
    ICommandPalette
  ],
  activate: (
    app: JupyterFrontEnd,
    factory: IFileBrowserFactory | null,
    defaultBrowser: IDefaultFileBrowser | null,
    documents: IDocumentManager | null,
    launcher: ILauncher | null,
    palette: ICommandPalette | null
  ) => {
    const { commands, serviceManager } = app;
    const client = new TensorBoardClient(serviceManager.serverSettings);
    const browser = () => factory?.tracker.currentWidget ?? defaultBrowser;
    const local = (path: string) => serviceManager.contents.localPath(path);
    const chosen = () => foldersOf(browser()).map(local);

    // The buttons beside it show text in Notebook and icons in JupyterLab.
    const hasTextButtons = PageConfig.getOption('notebookPage') !== '';
    commands.addCommand(OPEN_TENSORBOARD, {
      label: args => (args.ask || args.toolbar ? 'TensorBoard' : 'Open in TensorBoard'),
      caption: args =>
        args.ask ? '' : 'Open the selected folders, or the one shown, in TensorBoard',
      icon: args => (args.toolbar && hasTextButtons ? undefined : tensorBoardIcon),
      isEnabled: args => Boolean(args.ask) || chosen().length > 0,
      isVisible: args => !args.ask || documents !== null,
      execute: async args => {
        if (args.ask && documents) {
          const folder = await askForFolder(
            documents,
            String(args.cwd ?? browser()?.model.path ?? ''),
            TITLE,
            'Choose the folder with the logs'
          );
          return folder === null ? undefined : openFolders(client, TITLE, [local(folder)]);
        }
        return openFolders(client, TITLE, chosen());
      }
    });

    const update = () => commands.notifyCommandChanged(OPEN_TENSORBOARD);
    defaultBrowser?.selectionChanged.connect(update);
    defaultBrowser?.model.pathChanged.connect(update);
    void app.restored.then(prefetchScript);
    launcher?.add({ command: OPEN_TENSORBOARD, args: ASK_FOR_FOLDER, category: 'Other', rank: 2 });
    palette?.addItem({
      command: OPEN_TENSORBOARD,
      args: ASK_FOR_FOLDER,
      category: PALETTE_CATEGORY
    });
  }
};

/** Have the browser load TensorBoard's script, which all TensorBoards share, when it has time. */
function prefetchScript(): void {
  const path = PageConfig.getOption('tensorBoardScript');
  if (path !== '') {
    const link = document.createElement('link');
    link.rel = 'prefetch';
    link.as = 'script';
    link.href = path;
    document.head.append(link);
  }
}
