import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { Contents } from '@jupyterlab/services';
import { LabIcon } from '@jupyterlab/ui-components';

import { PALETTE_CATEGORY, TOOLS } from '../lab/palette';
import { ViewerClient, Viewer } from './client';
import { ASK_FOR_FOLDER, askForFolder, foldersOf, openFolders } from './viewer';

/** A program that shows folders in tabs of the browser. */
export interface IViewerOptions {
  readonly id: string;
  readonly description: string;
  readonly command: string;
  readonly viewer: Viewer;
  readonly title: string;
  readonly icon: LabIcon;
  readonly caption: string;
  /** What the dialog asks for. */
  readonly question: string;
  /** How many folders it shows together. */
  readonly mostFolders: number;
  /** Its place among the launcher's other cards. */
  readonly rank: number;
  /** Whether the node has it. */
  isThere(): boolean;
  /** The folder in which the dialog begins; null for the one that the file browser shows. */
  startFolder?(contents: Contents.IManager): Promise<string | null>;
}

/** The command that opens folders in the viewer; its button, context menu item, launcher card. */
export function viewerPlugin(options: IViewerOptions): JupyterFrontEndPlugin<void> {
  return {
    id: options.id,
    description: options.description,
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
      const { command, title } = options;
      const { commands, serviceManager } = app;
      const { contents } = serviceManager;
      const client = new ViewerClient(serviceManager.serverSettings, options.viewer);
      const browser = () => factory?.tracker.currentWidget ?? defaultBrowser;
      const local = (path: string) => contents.localPath(path);
      const chosen = () => foldersOf(browser()).map(local);
      const fits = (count: number) => count > 0 && count <= options.mostFolders;

      // The buttons beside it show text in Notebook and icons in JupyterLab.
      const hasTextButtons = PageConfig.getOption('notebookPage') !== '';
      commands.addCommand(command, {
        label: args => (args.ask || args.toolbar ? title : `Open in ${title}`),
        caption: args => (args.ask ? '' : options.caption),
        icon: args => (args.toolbar && hasTextButtons ? undefined : options.icon),
        isEnabled: args => Boolean(args.ask) || fits(chosen().length),
        isVisible: args => options.isThere() && (!args.ask || documents !== null),
        execute: async args => {
          if (args.ask && documents) {
            const begin =
              (await options.startFolder?.(contents)) ??
              String(args.cwd ?? browser()?.model.path ?? '');
            const { question, viewer } = options;
            const folder = await askForFolder(documents, begin, title, question, viewer);
            return folder === null ? undefined : openFolders(client, title, [local(folder)]);
          }
          return openFolders(client, title, chosen());
        }
      });

      const update = () => commands.notifyCommandChanged(command);
      defaultBrowser?.selectionChanged.connect(update);
      defaultBrowser?.model.pathChanged.connect(update);
      if (options.isThere()) {
        const { rank } = options;
        launcher?.add({ command, args: ASK_FOR_FOLDER, ...TOOLS, rank });
        palette?.addItem({ command, args: ASK_FOR_FOLDER, category: PALETTE_CATEGORY });
      }
    }
  };
}
