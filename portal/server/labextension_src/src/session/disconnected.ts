import {
  IConnectionLost,
  JupyterFrontEnd,
  JupyterFrontEndPlugin,
  JupyterLab
} from '@jupyterlab/application';
import { Dialog } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';

import { textWithGuide } from '../base/guide';
import { ISession, Presence } from './session';

const WORDS: Record<Exclude<Presence, 'there'>, { title: string; body: string }> = {
  ended: {
    title: 'This session has ended',
    body: 'Unsaved changes stay in this tab while it is open, and will be saved when you start a session again. The session’s page tells you why it ended.'
  },
  silent: {
    title: 'The session is not responding',
    body: 'The network, the portal or the node is unreachable. This tab keeps trying; unsaved changes stay in it while it is open.'
  }
};

/** The hub hears within 15 s that a job is over; until then its server is only silent. */
const MOST_PAUSES = 10;
const PAUSE_MS = 2_000;

function pause(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, PAUSE_MS));
}

/** Says once what became of a session that no longer responds. */
class DisconnectedNotice {
  private told: Presence = 'there';
  private isAsking = false;

  constructor(
    private readonly session: ISession,
    private readonly baseUrl: string,
    private readonly info: JupyterLab.IInfo | null
  ) {
    session.changed.connect(() => (this.told = 'there'));
  }

  async tell(): Promise<void> {
    const idle = this.session.state?.idle.state;
    // The idle notice says so itself.
    if (this.isAsking || this.told === 'ended' || idle === 'saving' || idle === 'over') {
      return;
    }
    this.isAsking = true;
    try {
      let presence = await this.settle();
      while (presence !== 'there' && presence !== this.told) {
        this.told = presence;
        await this.show(presence);
        presence = await this.settle();
      }
    } finally {
      this.isAsking = false;
    }
  }

  /** Ask until the answer is more than silence, for some seconds. */
  private async settle(): Promise<Presence> {
    for (let i = 0; i < MOST_PAUSES && (await this.session.presence()) === 'silent'; i++) {
      await pause();
    }
    return this.session.presence();
  }

  private async show(presence: Exclude<Presence, 'there'>): Promise<void> {
    const { title, body } = WORDS[presence];
    const buttons = [Dialog.cancelButton({ label: 'Close' })];
    if (presence === 'ended') {
      buttons.push(Dialog.okButton({ label: 'Start a session' }));
      // This one would wait behind those of requests that failed because of the end.
      Dialog.flush();
    }
    // JupyterLab sends no requests while the dialog is open.
    this.setConnected(false);
    const dialog = new Dialog({ title, body: textWithGuide(body, 'sessionGone'), buttons });
    void this.closeWhenChanged(dialog, presence);
    const { button } = await dialog.launch();
    this.setConnected(true);
    if (button.accept) {
      // Another tab, since this one holds what is not saved.
      window.open(this.baseUrl, '_blank');
    }
  }

  private async closeWhenChanged(dialog: Dialog<unknown>, presence: Presence): Promise<void> {
    do {
      await pause();
    } while (!dialog.isDisposed && (await this.session.presence()) === presence);
    if (!dialog.isDisposed) {
      dialog.reject();
    }
  }

  private setConnected(isConnected: boolean): void {
    if (this.info) {
      this.info.isConnected = isConnected;
    }
  }
}

/** In place of JupyterHub's own, which takes each lost connection for a server that has ended. */
export const disconnectedPlugin: JupyterFrontEndPlugin<IConnectionLost> = {
  id: 'data-scientist-portal:disconnected',
  description: 'Says what became of a session that no longer responds.',
  autoStart: true,
  requires: [ISession],
  optional: [JupyterLab.IInfo],
  provides: IConnectionLost,
  activate: (app: JupyterFrontEnd, session: ISession, info: JupyterLab.IInfo | null) => {
    const notice = new DisconnectedNotice(session, app.serviceManager.serverSettings.baseUrl, info);
    // JupyterLab asks for this plugin when a request fails; Notebook knows of no lost connection.
    if (PageConfig.getOption('notebookPage') !== '') {
      app.serviceManager.connectionFailure.connect(() => void notice.tell());
    }
    return () => notice.tell();
  }
};
