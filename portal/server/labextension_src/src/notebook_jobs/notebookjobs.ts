import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, Notification, showDialog } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { Contents, ServerConnection } from '@jupyterlab/services';

import { askPortal } from '../base/api';
import { Forecast } from '../base/forecast';
import { Form, IField, Values } from '../base/form';
import { withGuide } from '../base/guide';
import { jobsIcon } from '../base/icon';
import { PALETTE_CATEGORY } from '../lab/palette';
import { changedOf, ICell, parametersOf } from './parameters';

export const RUN_AS_JOB = 'data-scientist-portal:run-as-job';
const ROUTE = 'notebook-jobs';
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
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

const EVERY: IField = {
  key: 'every',
  label: 'Again',
  kind: 'choice',
  choices: [
    ['', 'no'],
    ['day', 'every day'],
    ...DAYS.map(day => [day.toLowerCase(), `every ${day}`] as const)
  ]
};

/** What a form begins with: the size of the session, or what a former run was asked for. */
interface IBeginning {
  readonly size: Readonly<Record<string, number>>;
  readonly budget: string;
  readonly path?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** The clock of the cluster. */
  readonly clock: string;
  /** Where Slurm's mail goes; empty if the site sends none. */
  readonly mail?: string;
}

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
        if (typeof args.run === 'string') {
          return runAsJob(contents, serverSettings, '', args.run);
        }
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

/** Ask for what a job needs, and queue it; with a `run` as that was asked for. */
async function runAsJob(
  contents: Contents.IManager,
  settings: ServerConnection.ISettings,
  path: string,
  run = ''
): Promise<void> {
  let error = '';
  let values: Values;
  let parameters: ReturnType<typeof parametersOf>;
  let fields: IField[];
  try {
    const form = await askPortal<IBeginning>(
      settings,
      run ? `${ROUTE}?run=${encodeURIComponent(run)}` : ROUTE
    );
    path = form.path ?? path;
    const file = await contents.get(path, { type: 'notebook', content: true });
    parameters = parametersOf((file.content as { cells: ICell[] }).cells);
    const former = Object.entries(form.parameters ?? {}).map(
      ([name, value]) => [name, JSON.stringify(value)] as const
    );
    const own = Object.fromEntries([...parameters, ...former]);
    const size = Object.entries(form.size).map(([name, value]) => [name, String(value)]);
    values = Object.fromEntries([
      ...size,
      ...Object.entries(own).map(([name, value]) => [OF_NOTEBOOK + name, value])
    ]) as Values;
    const hint = `Such as 04:00, by the clock of the cluster, which says ${form.clock}. Empty: now.`;
    const at = { key: 'at', label: 'At', hint, pattern: '[0-9]{1,2}:[0-9]{2}' };
    const names = Object.keys(own).map(name => ({ key: OF_NOTEBOOK + name, label: name }));
    const mail: IField[] = form.mail
      ? [{ key: 'mail', label: `Mail to ${form.mail} when it has ended`, kind: 'check' }]
      : [];
    fields = [...sizeFields(form.budget), EVERY, at, ...mail, ...names];
  } catch (problem) {
    Notification.error((problem as Error).message, { autoClose: false });
    return;
  }
  const orderOf = ({ gpus, nodes, hours, every, at, mail, ...own }: Values) => ({
    path: contents.localPath(path),
    ...{ gpus, nodes, hours, every, at, mail },
    parameters: changedOf(
      parameters,
      Object.entries(own).map(([key, value]) => [key.slice(OF_NOTEBOOK.length), String(value)])
    )
  });
  for (;;) {
    const form = new Form(fields, values, error);
    const forecast = new Forecast(form, async value => {
      const asked = askPortal<{ message: string }>(
        settings,
        `${ROUTE}/forecast`,
        'POST',
        orderOf(value)
      );
      return (await asked).message;
    });
    const { button, value } = await showDialog({
      title: `Run ${PathExt.basename(path)} as a job`,
      body: withGuide(form, 'notebookJobs'),
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label: 'Run as a Job' })]
    });
    forecast.stop();
    if (!button.accept || !value) {
      return;
    }
    values = value;
    try {
      const { message } = await askPortal<{ message: string }>(
        settings,
        ROUTE,
        'POST',
        orderOf(value)
      );
      Notification.success(message, { autoClose: false });
      return;
    } catch (problem) {
      error = (problem as Error).message;
    }
  }
}
