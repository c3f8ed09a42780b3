import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';

import { askPortal } from './api';

/** Environments are tried one after the other while the session starts. */
const FIRST_LOOK_MS = 20_000;

interface IListing {
  readonly environments: ReadonlyArray<{ name: string; problem: string; own: boolean }>;
  readonly problems: ReadonlyArray<string>;
}

/** Says which of the user's own environments is not offered on this node, and why. */
export const environmentsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:environments',
  description: 'Says why an environment of the user cannot be used as a kernel on this node.',
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    const look = async () => {
      const found = await askPortal<IListing>(app.serviceManager.serverSettings, 'environments');
      const broken = found.environments.filter(({ own, problem }) => own && problem);
      broken.forEach(({ name, problem }) =>
        Notification.warning(
          `Your environment “${name}” cannot be used as a kernel on this node. ${problem}`,
          {
            autoClose: false
          }
        )
      );
    };
    window.setTimeout(
      () => void look().catch(error => console.warn('Environments cannot be listed', error)),
      FIRST_LOOK_MS
    );
  }
};
