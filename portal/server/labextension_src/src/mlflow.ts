import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { Contents } from '@jupyterlab/services';

import { mlflowIcon } from './icon';
import { PALETTE_CATEGORY } from './palette';
import { TensorBoardClient } from './tensorboardclient';
import { ASK_FOR_FOLDER, askForFolder, foldersOf, openFolders } from './viewer';

export const OPEN_MLFLOW = 'data-scientist-portal:open-mlflow';

const TITLE = 'MLflow';
/** Where kernels log to, unless somebody says otherwise. */
const OWN_FOLDER = 'mlruns';

/** Whether this node has MLflow. */
export function hasMlflow(): boolean {
  return PageConfig.getOption('portalMlflow') !== '';
}

/** The command "Open MLflow", its button, context menu item and launcher card. */
export const mlflowPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:mlflow',
  description: 'Opens the selected folder of runs in MLflow, in a tab of its own.',
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
    const client = new TensorBoardClient(serviceManager.serverSettings, 'mlflow');
    const browser = () => factory?.tracker.currentWidget ?? defaultBrowser;
    const local = (path: string) => serviceManager.contents.localPath(path);
    const chosen = () => foldersOf(browser()).map(local);

    // The buttons beside it show text in Notebook and icons in JupyterLab.
    const hasTextButtons = PageConfig.getOption('notebookPage') !== '';
    commands.addCommand(OPEN_MLFLOW, {
      label: args => (args.ask || args.toolbar ? TITLE : 'Open in MLflow'),
      caption: args => (args.ask ? '' : 'Open the selected folder, or the one shown, in MLflow'),
      icon: args => (args.toolbar && hasTextButtons ? undefined : mlflowIcon),
      isEnabled: args => Boolean(args.ask) || chosen().length === 1,
      isVisible: args => hasMlflow() && (!args.ask || documents !== null),
      execute: async args => {
        if (args.ask && documents) {
          const begin = await startFolder(serviceManager.contents);
          const folder = await askForFolder(
            documents,
            begin ?? String(args.cwd ?? browser()?.model.path ?? ''),
            TITLE,
            'Choose the folder that runs were logged to'
          );
          return folder === null ? undefined : openFolders(client, TITLE, [local(folder)]);
        }
        return openFolders(client, TITLE, chosen());
      }
    });

    const update = () => commands.notifyCommandChanged(OPEN_MLFLOW);
    defaultBrowser?.selectionChanged.connect(update);
    defaultBrowser?.model.pathChanged.connect(update);
    if (hasMlflow()) {
      launcher?.add({ command: OPEN_MLFLOW, args: ASK_FOR_FOLDER, category: 'Other', rank: 3 });
      palette?.addItem({ command: OPEN_MLFLOW, args: ASK_FOR_FOLDER, category: PALETTE_CATEGORY });
    }
  }
};

/** The folder that kernels log to, if it is there. */
async function startFolder(contents: Contents.IManager): Promise<string | null> {
  try {
    return (await contents.get(OWN_FOLDER, { content: false })).path;
  } catch {
    return null;
  }
}
