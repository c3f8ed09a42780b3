import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget, Notification } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { Token } from '@lumino/coreutils';

import { EnvironmentClient } from './client';
import { addImage, makeEnvironment } from './forms';
import { EnvironmentsPanel } from './panel';
import { EnvironmentTasks } from './tasks';
import { environmentIcon } from '../base/icon';
import { PALETTE_CATEGORY, TOOLS } from '../lab/palette';

export const NEW_ENVIRONMENT = 'data-scientist-portal:new-environment';
const ADD_IMAGE = 'data-scientist-portal:add-image';
const SHOW_ENVIRONMENTS = 'data-scientist-portal:environments';

/** Environments are tried one after the other while the session starts. */
const FIRST_LOOK_MS = 20_000;

/** Makes an environment for a notebook, with fields filled in; its kernel, or null. */
export interface IEnvironmentMaker {
  make(values: Readonly<Record<string, string>>): Promise<string | null>;
}

export const IEnvironmentMaker = new Token<IEnvironmentMaker>(
  'data-scientist-portal:IEnvironmentMaker'
);

/** Makes, adds, lists and removes environments, and says which are not offered on this node. */
export const environmentsPlugin: JupyterFrontEndPlugin<IEnvironmentMaker> = {
  id: 'data-scientist-portal:environments',
  description: 'Makes environments and images into kernels, lists, updates and removes them.',
  autoStart: true,
  provides: IEnvironmentMaker,
  optional: [ILauncher, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    launcher: ILauncher | null,
    palette: ICommandPalette | null
  ): IEnvironmentMaker => {
    const { commands, serviceManager } = app;
    const specs = serviceManager.kernelspecs;
    const client = new EnvironmentClient(serviceManager.serverSettings);
    const tasks = new EnvironmentTasks(
      client,
      specs,
      kernelName => void commands.execute('notebook:create-new', { kernelName })
    );
    commands.addCommand(NEW_ENVIRONMENT, {
      label: 'New Environment…',
      caption: 'Make a kernel with packages of your choice',
      icon: environmentIcon,
      execute: () => makeEnvironment(tasks, specs, {}, true)
    });
    commands.addCommand(ADD_IMAGE, {
      label: 'Add an Image…',
      caption: 'Make a kernel of a container image',
      icon: environmentIcon,
      execute: () => addImage(tasks)
    });
    let panel: MainAreaWidget<EnvironmentsPanel> | null = null;
    commands.addCommand(SHOW_ENVIRONMENTS, {
      label: 'Environments',
      caption: 'Your environments and images: size, update, export, remove',
      icon: environmentIcon,
      execute: () => {
        if (panel === null || panel.isDisposed) {
          const add = [NEW_ENVIRONMENT, ADD_IMAGE];
          panel = new MainAreaWidget({ content: new EnvironmentsPanel(app, tasks, add) });
          panel.id = 'data-scientist-portal-environments';
          app.shell.add(panel, 'main');
        }
        app.shell.activateById(panel.id);
      }
    });
    [NEW_ENVIRONMENT, ADD_IMAGE, SHOW_ENVIRONMENTS].forEach((command, i) => {
      launcher?.add({ command, ...TOOLS, rank: 4 + i });
      palette?.addItem({ command, category: PALETTE_CATEGORY });
    });

    window.setTimeout(
      () =>
        void tellBroken(client).catch(error =>
          console.warn('Environments cannot be listed', error)
        ),
      FIRST_LOOK_MS
    );
    return { make: values => makeEnvironment(tasks, specs, values, false) };
  }
};

async function tellBroken(client: EnvironmentClient): Promise<void> {
  const { environments } = await client.listing();
  environments
    .filter(({ own, problem }) => own && problem)
    .forEach(({ name, problem }) =>
      Notification.warning(
        `Your environment “${name}” cannot be used as a kernel on this node. ${problem}`,
        { autoClose: false }
      )
    );
}
