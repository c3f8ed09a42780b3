import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import { IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';

import { jobsIcon } from '../base/icon';
import { JobsPanel } from './panel';
import { PALETTE_CATEGORY, TOOLS } from '../lab/palette';

export const OPEN_JOBS = 'data-scientist-portal:open-jobs';
const SUBMIT_JOB = 'data-scientist-portal:submit-job';
const SCRIPT = /\.(job|sbatch|slurm|sh)$/;

/** The page of the user's Slurm jobs: a tab of JupyterLab, or of the browser beside Notebook. */
export const jobsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:jobs',
  description: 'Lists, submits, follows and cancels Slurm jobs.',
  autoStart: true,
  optional: [IFileBrowserFactory, IDefaultFileBrowser, ILauncher, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    factory: IFileBrowserFactory | null,
    defaultBrowser: IDefaultFileBrowser | null,
    launcher: ILauncher | null,
    palette: ICommandPalette | null
  ) => {
    const { commands, serviceManager } = app;
    const baseUrl = serviceManager.serverSettings.baseUrl;
    const isNotebook = PageConfig.getOption('notebookPage') !== '';
    const script = () => {
      const items = [
        ...((factory?.tracker.currentWidget ?? defaultBrowser)?.selectedItems() ?? [])
      ];
      const [item] = items;
      const isScript = items.length === 1 && item.type !== 'directory' && SCRIPT.test(item.name);
      return isScript ? serviceManager.contents.localPath(item.path) : null;
    };

    let panel: JobsPanel | null = null;
    const show = async (path: string | null) => {
      if (isNotebook) {
        const query = path === null ? '' : URLExt.objectToQueryString({ script: path });
        window.open(URLExt.join(baseUrl, 'portal/jobs') + query, '_blank');
        return;
      }
      if (panel === null || panel.isDisposed) {
        panel = new JobsPanel(serviceManager.serverSettings);
        app.shell.add(panel, 'main');
      }
      app.shell.activateById(panel.id);
      await panel.load(path);
    };

    commands.addCommand(OPEN_JOBS, {
      label: 'Slurm Jobs',
      caption: 'Your jobs on the cluster: output, cancel, submit',
      icon: jobsIcon,
      execute: () => show(null)
    });
    commands.addCommand(SUBMIT_JOB, {
      label: 'Submit as Slurm Job …',
      caption: 'Show what the script requests, then submit it',
      icon: jobsIcon,
      isVisible: () => script() !== null,
      execute: () => show(script())
    });
    launcher?.add({ command: OPEN_JOBS, ...TOOLS, rank: 3 });
    [OPEN_JOBS, SUBMIT_JOB].forEach(command =>
      palette?.addItem({ command, category: PALETTE_CATEGORY })
    );
  }
};
