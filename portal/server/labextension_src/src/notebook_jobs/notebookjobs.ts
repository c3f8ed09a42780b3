import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, Notification, showDialog } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { Contents, ServerConnection } from '@jupyterlab/services';

import { askPortal } from '../base/api';
import { Form, IField, Values } from '../base/form';
import { withGuide } from '../base/guide';
import { jobsIcon } from '../base/icon';
import { PALETTE_CATEGORY } from '../lab/palette';
import { changedOf, ICell, parametersOf } from './parameters';

const RUN_AS_JOB = 'data-scientist-portal:run-as-job';
const ROUTE = 'notebook-jobs';
/** Names of fields begin with it, since a parameter may be called gpus. */
const OF_NOTEBOOK = 'parameter ';

const sizeFields = (budget: string): readonly IField[] => [
  {
    key: 'gpus',
    label: 'GPUs',
    hint: 'On all nodes together',
    pattern: '[0-9]+',
    isRequired: true
  },
  { key: 'nodes', label: 'Nodes', pattern: '[0-9]+', isRequired: true },
  {
    key: 'hours',
    label: 'Hours',
    hint: `The job ends after this time, and keeps what has run. ${budget}`.trim(),
    pattern: '[0-9]+([.][0-9]+)?',
    isRequired: true
  }
];

/** "Run as a Job" in the toolbar of notebooks and in the context menu of the file browser. */
export const notebookJobsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:notebook-jobs',
  description: 'Runs notebooks as Slurm jobs.',
  autoStart: true,
  requires: [IDocumentManager],
  optional: [IFileBrowserFactory, IDefaultFileBrowser, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    documents: IDocumentManager,
    factory: IFileBrowserFactory | null,
    defaultBrowser: IDefaultFileBrowser | null,
    palette: ICommandPalette | null
  ) => {
    const { contents, serverSettings } = app.serviceManager;
    const opened = () => {
      const widget = app.shell.currentWidget;
      const context = widget ? documents.contextForWidget(widget) : undefined;
      return context !== undefined && isNotebook(context.path) ? context : null;
    };
    const selected = () => {
      const items = [
        ...((factory?.tracker.currentWidget ?? defaultBrowser)?.selectedItems() ?? [])
      ];
      return items.length === 1 && isNotebook(items[0].path) ? items[0].path : null;
    };
    app.commands.addCommand(RUN_AS_JOB, {
      label: args => (args.toolbar ? '' : 'Run as a Job…'),
      caption: 'Run the notebook to its end as a Slurm job',
      icon: jobsIcon,
      isVisible: args => !args.isFile || selected() !== null,
      isEnabled: args => Boolean(args.isFile) || args.toolbar === true || opened() !== null,
      execute: async args => {
        const context = args.isFile ? null : opened();
        // The job runs what is in the file.
        await context?.save();
        const path = context?.path ?? selected();
        if (path !== null) {
          await runAsJob(contents, serverSettings, path);
        }
      }
    });
    palette?.addItem({ command: RUN_AS_JOB, category: PALETTE_CATEGORY });
  }
};

function isNotebook(path: string): boolean {
  return PathExt.extname(path) === '.ipynb';
}

async function runAsJob(
  contents: Contents.IManager,
  settings: ServerConnection.ISettings,
  path: string
): Promise<void> {
  let error = '';
  let values: Values;
  let parameters: ReturnType<typeof parametersOf>;
  let sizes: readonly IField[];
  try {
    const [file, { size, budget }] = await Promise.all([
      contents.get(path, { type: 'notebook', content: true }),
      askPortal<{ size: Record<string, number>; budget: string }>(settings, ROUTE)
    ]);
    sizes = sizeFields(budget);
    parameters = parametersOf((file.content as { cells: ICell[] }).cells);
    const own = parameters.map(([name, value]) => [OF_NOTEBOOK + name, value]);
    const numbers = Object.entries(size).map(([name, value]) => [name, String(value)]);
    values = Object.fromEntries([...numbers, ...own]) as Values;
  } catch (problem) {
    Notification.error((problem as Error).message, { autoClose: false });
    return;
  }
  const fields = parameters.map(([name]) => ({ key: OF_NOTEBOOK + name, label: name }));
  for (;;) {
    const { button, value } = await showDialog({
      title: `Run ${PathExt.basename(path)} as a job`,
      body: withGuide(new Form([...sizes, ...fields], values, error), 'notebookJobs'),
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label: 'Run as a Job' })]
    });
    if (!button.accept || !value) {
      return;
    }
    values = value;
    const after = parameters.map(([name]) => [name, String(value[OF_NOTEBOOK + name])]);
    try {
      const { message } = await askPortal<{ message: string }>(settings, ROUTE, 'POST', {
        path: contents.localPath(path),
        gpus: value.gpus,
        nodes: value.nodes,
        hours: value.hours,
        parameters: changedOf(parameters, Object.fromEntries(after) as Record<string, string>)
      });
      Notification.success(message, { autoClose: false });
      return;
    } catch (problem) {
      error = (problem as Error).message;
    }
  }
}
