import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IDocumentManager } from '@jupyterlab/docmanager';

import { changedContexts } from '../files/save';

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
        // Not the list of sessions: it is some seconds old, and older in a hidden tab.
        const busy = [...app.shell.widgets('main')]
          .map(widget => documents.contextForWidget(widget))
          .filter(context => context?.sessionContext.session?.kernel?.status === 'busy')
          .map(context => context!.localPath);
        channel.postMessage({ session, unsaved, busy });
      }
    });
  }
};
