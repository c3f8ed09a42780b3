import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { Event } from '@jupyterlab/services';

import { ISession } from './session';

/** See portal/server/session/monitor.py. */
const SUSPENSION_EVENT = 'https://data-scientist-portal.example/events/suspension';

/** Shows what the site announces, once in each tab, for as long as it is announced. */
class Notices {
  private readonly shown = new Map<string, string>();

  constructor(session: ISession, events: Event.IManager) {
    session.changed.connect((_, { notices }) => this.take(notices));
    // The last that the server says: it answers nothing more until it is resumed.
    events.stream.connect((_, event) => {
      if (event.schema_id === SUSPENSION_EVENT) {
        this.take([...this.shown.keys(), String(event.sentence)]);
      }
    });
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
  activate: (app: JupyterFrontEnd, session: ISession) =>
    void new Notices(session, app.serviceManager.events)
};
