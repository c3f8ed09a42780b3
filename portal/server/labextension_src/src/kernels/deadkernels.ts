import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISessionContext } from '@jupyterlab/apputils';
import { Slot } from '@lumino/signaling';

import { ISession } from '../session/session';

/** The server learns of it at about the same time. */
const PAUSE_MS = 1_000;

interface IPanel {
  readonly _onSessionStatusChanged: Slot<ISessionContext, string>;
}

/** The session's notice says why a kernel died: JupyterLab's dialog would only say that it did. */
export const deadKernelsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:dead-kernels',
  description: 'Has the death of a kernel told once.',
  autoStart: true,
  requires: [ISession],
  activate: (app: JupyterFrontEnd, session: ISession) => {
    app.docRegistry.addWidgetExtension('Notebook', {
      createNew: (panel, { sessionContext }) => {
        const { _onSessionStatusChanged: showDialog } = panel as unknown as IPanel;
        sessionContext.statusChanged.disconnect(showDialog, panel);
        sessionContext.statusChanged.connect((_, status) => {
          if (status === 'autorestarting') {
            setTimeout(() => session.look(), PAUSE_MS);
          }
        });
      }
    });
  }
};
