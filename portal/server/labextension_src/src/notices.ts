import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';

import { ISession } from './session';

/** Shows what the site announces, once in each tab, for as long as it is announced. */
class Notices {
  private readonly shown = new Map<string, string>();

  constructor(session: ISession) {
    session.changed.connect((_, { notices }) => this.take(notices));
  }

  private take(notices: ReadonlyArray<string>): void {
    for (const [text, id] of this.shown) {
      if (!notices.includes(text)) {
        Notification.dismiss(id);
        this.shown.delete(text);
      }
    }
    for (const text of notices.filter(text => !this.shown.has(text))) {
      this.shown.set(text, Notification.warning(text, { autoClose: false }));
    }
  }
}

export const noticesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:notices',
  description: 'Shows what the site announces.',
  autoStart: true,
  requires: [ISession],
  activate: (_: JupyterFrontEnd, session: ISession) => void new Notices(session)
};
