import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import { IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';

import { jobsIcon } from '../base/icon';
import { JobsPanel } from './panel';
import { RUN_AS_JOB } from '../notebook_jobs/notebookjobs';
import { PALETTE_CATEGORY, TOOLS } from '../lab/palette';

export const OPEN_JOBS = 'data-scientist-portal:open-jobs';
const SUBMIT_JOB = 'data-scientist-portal:submit-job';
const SCRIPT = /\.(job|sbatch|slurm|sh)$/;

/** The user's jobs and runs: a panel in JupyterLab's sidebar, or a tab of the browser beside Notebook. */
export const jobsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:jobs',
  description:
    'Lists, submits, follows and ends Slurm jobs and the trainings that run() has started.',
  autoStart: true,
  optional: [IFileBrowserFactory, IDefaultFileBrowser, ILauncher, ICommandPalette, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    factory: IFileBrowserFactory | null,
    defaultBrowser: IDefaultFileBrowser | null,
    launcher: ILauncher | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null
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

    const open = () => ({
      file: (path: string) => void commands.execute('docmanager:open', { path }),
      ...(commands.hasCommand(RUN_AS_JOB) && {
        notebook: (run: string) => void commands.execute(RUN_AS_JOB, { run })
      })
    });
    const panel = isNotebook ? null : new JobsPanel(serviceManager.serverSettings, open);
    if (panel) {
      app.shell.add(panel, 'left', { rank: 250 });
      // Else a page that was left with this panel in front comes back without a sidebar.
      restorer?.add(panel, panel.id);
    }
    const show = async (path: string | null) => {
      if (panel) {
        app.shell.activateById(panel.id);
        await (path === null ? null : panel.preview(path));
        return;
      }
      const query = path === null ? '' : URLExt.objectToQueryString({ script: path });
      window.open(URLExt.join(baseUrl, 'portal/jobs') + query, '_blank');
    };

    commands.addCommand(OPEN_JOBS, {
      label: 'Jobs and Runs',
      caption:
        'Your jobs on the cluster and the trainings of run(): progress, output, result, stop',
      icon: jobsIcon,
      execute: () => show(null)
    });
    commands.addCommand(SUBMIT_JOB, {
      label: 'Submit as Slurm Job…',
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
