import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import {
  FileBrowser,
  FileDialog,
  IDefaultFileBrowser,
  IFileBrowserFactory
} from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';

import { tensorBoardIcon } from './icon';
import { PALETTE_CATEGORY } from './palette';
import { ITensorBoard, TensorBoardClient } from './tensorboardclient';
import { WaitingTab } from './waitingtab';

export const OPEN_TENSORBOARD = 'data-scientist-portal:open-tensorboard';

/** The arguments that have the command ask for the folder. */
export const ASK_FOR_FOLDER = { ask: true };

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
            String(args.cwd ?? browser()?.model.path ?? '')
          );
          return folder === null ? undefined : openTensorBoard(client, [local(folder)]);
        }
        return openTensorBoard(client, chosen());
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

/** The selected folders, else the folder that the browser shows, unless it shows everything. */
function foldersOf(browser: FileBrowser | null): string[] {
  if (!browser) {
    return [];
  }
  const selected = [...browser.selectedItems()].filter(item => item.type === 'directory');
  const paths = selected.length > 0 ? selected.map(item => item.path) : [browser.model.path];
  return paths.filter(path => path !== '');
}

async function askForFolder(
  manager: IDocumentManager,
  defaultPath: string
): Promise<string | null> {
  const { button, value } = await FileDialog.getExistingDirectory({
    manager,
    defaultPath,
    title: 'TensorBoard',
    label: 'Choose the folder with the logs'
  });
  return button.accept && value?.[0] ? value[0].path : null;
}

/** Start a TensorBoard and show it in a new tab of the browser. */
export async function openTensorBoard(
  client: TensorBoardClient,
  logdirs: ReadonlyArray<string>
): Promise<void> {
  const tab = new WaitingTab('TensorBoard', `Starting TensorBoard for ${logdirs.join(', ')} …`);
  let board: ITensorBoard;
  try {
    board = await client.open(logdirs);
  } catch (error) {
    tab.close();
    Notification.error((error as Error).message, { autoClose: false });
    return;
  }
  if (!tab.show(board.url)) {
    Notification.info(`TensorBoard for ${board.logdirs.join(', ')} is ready.`, {
      autoClose: false,
      actions: [
        { label: 'Open TensorBoard', callback: () => void window.open(board.url, '_blank') }
      ]
    });
  }
  if (board.note) {
    Notification.warning(board.note, { autoClose: false });
  }
}
