import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IDocumentManager } from '@jupyterlab/docmanager';

import { changedContexts } from './save';

/** The hub's home page asks on it before it stops a session; see portal/hub/static/unfinished.js. */
const CHANNEL = 'data-scientist-portal';

/** Tells the hub's home page, open in another tab, what computes and what is not saved. */
export const unfinishedPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:unfinished',
  description: 'Tells what computes and what is not saved before the session is stopped.',
  autoStart: true,
  requires: [IDocumentManager],
  activate: (app: JupyterFrontEnd, documents: IDocumentManager) => {
    const session = new URL(app.serviceManager.serverSettings.baseUrl, location.href).pathname;
    const channel = new BroadcastChannel(CHANNEL);
    channel.addEventListener('message', ({ data }: MessageEvent<{ ask?: string } | null>) => {
      if (data?.ask === 'unfinished') {
        const unsaved = changedContexts(app, documents).map(context => context.localPath);
        const sessions = [...app.serviceManager.sessions.running()];
        const isBusy = sessions.filter(each => each.kernel?.execution_state === 'busy');
        channel.postMessage({ session, unsaved, busy: isBusy.map(each => each.path) });
      }
    });
  }
};
