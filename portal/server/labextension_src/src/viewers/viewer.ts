import { Notification } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { FileBrowser, FileDialog } from '@jupyterlab/filebrowser';

import { GuideRenderer } from '../base/guide';
import { IFolderPage, Viewer, ViewerClient } from './client';
import { WaitingTab } from '../base/waitingtab';

/** The arguments that have a command ask for the folder. */
export const ASK_FOR_FOLDER = { ask: true };

/** The selected folders, else the folder that the browser shows, unless it shows everything. */
export function foldersOf(browser: FileBrowser | null): string[] {
  if (!browser) {
    return [];
  }
  const selected = [...browser.selectedItems()].filter(item => item.type === 'directory');
  const paths = selected.length > 0 ? selected.map(item => item.path) : [browser.model.path];
  return paths.filter(path => path !== '');
}

/** Ask for a folder; null if the user gives up. */
export async function askForFolder(
  manager: IDocumentManager,
  defaultPath: string,
  title: string,
  label: string,
  viewer: Viewer
): Promise<string | null> {
  const { button, value } = await FileDialog.getExistingDirectory({
    manager,
    defaultPath,
    title,
    label,
    renderer: new GuideRenderer(viewer)
  });
  return button.accept && value?.[0] ? value[0].path : null;
}

/** Start a viewer on folders and show it in a new tab of the browser. */
export async function openFolders(
  client: ViewerClient,
  title: string,
  logdirs: ReadonlyArray<string>
): Promise<void> {
  const tab = new WaitingTab(title, `Starting ${title} for ${logdirs.join(', ')} …`);
  let page: IFolderPage;
  try {
    page = await client.open(logdirs);
  } catch (error) {
    tab.close();
    Notification.error((error as Error).message, { autoClose: false });
    return;
  }
  if (!tab.show(page.url)) {
    Notification.info(`${title} for ${page.logdirs.join(', ')} is ready.`, {
      autoClose: false,
      actions: [{ label: `Open ${title}`, callback: () => void window.open(page.url, '_blank') }]
    });
  }
  if (page.note) {
    Notification.warning(page.note, { autoClose: false });
  }
}
