import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PageConfig, PathExt, URLExt } from '@jupyterlab/coreutils';
import { IFileBrowserFactory } from '@jupyterlab/filebrowser';

const DOWNLOAD_FOLDER = 'data-scientist-portal:download-folder';

/** "Download Folder" in the context menu of the file browser. */
export const archivePlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:archive',
  description: 'Downloads folders as archives.',
  autoStart: true,
  optional: [IFileBrowserFactory],
  activate: (app: JupyterFrontEnd, factory: IFileBrowserFactory | null) => {
    if (PageConfig.getOption('portalArchives') !== 'true') {
      return;
    }
    const { contents, serverSettings } = app.serviceManager;
    const folders = () =>
      [...(factory?.tracker.currentWidget?.selectedItems() ?? [])]
        .filter(item => item.type === 'directory')
        .map(item => item.path)
        .filter(path => contents.driveName(path) === '');
    app.commands.addCommand(DOWNLOAD_FOLDER, {
      label: 'Download Folder as Archive (.tar)',
      isVisible: () => folders().length > 0,
      execute: () => {
        for (const path of folders()) {
          const link = document.createElement('a');
          const query = `path=${encodeURIComponent(contents.localPath(path))}`;
          link.href = `${URLExt.join(serverSettings.baseUrl, 'portal/api/archive')}?${query}`;
          link.download = `${PathExt.basename(path)}.tar`;
          document.body.append(link);
          link.click();
          link.remove();
        }
      }
    });
    app.contextMenu.addItem({
      command: DOWNLOAD_FOLDER,
      selector: '.jp-DirListing-item[data-isdir="true"]',
      rank: 9
    });
  }
};
