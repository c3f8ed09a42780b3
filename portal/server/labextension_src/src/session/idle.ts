import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';

import { newSessionUrl } from '../lab/restart';
import { formatCountdown, formatDuration } from '../base/format';
import { saveAllAndReport } from '../files/save';
import { IIdle, ISession } from './session';

/** Warns that the session is idle, saves before it is stopped, and says that it was. */
class IdleNotice {
  private state: IIdle['state'] = 'used';
  private notice = '';

  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly session: ISession,
    private readonly documents: IDocumentManager
  ) {
    session.changed.connect((_, { idle }) => this.take(idle));
  }

  private take(idle: IIdle): void {
    const before = this.state;
    this.state = idle.state;
    if (idle.state === 'used') {
      this.dismiss();
      return;
    }
    this.show(idle);
    if (idle.state !== before && idle.state === 'saving') {
      const why = 'This session is idle and about to be stopped.';
      void saveAllAndReport(this.app, this.documents, why).then(() => this.tellTheEnd());
    }
  }

  private show(idle: IIdle): void {
    const message =
      `This session has been idle for ${formatDuration(idle.idle_s)}: nothing has run and nobody has typed. ` +
      `It will be saved and stopped in ${formatCountdown(idle.ends_in_s ?? 0)}.`;
    if (this.notice && Notification.update({ id: this.notice, message })) {
      return;
    }
    const keep = { label: 'Keep the session', callback: () => void this.keep() };
    this.notice = Notification.warning(message, { autoClose: false, actions: [keep] });
  }

  private dismiss(): void {
    if (this.notice) {
      Notification.dismiss(this.notice);
      this.notice = '';
    }
  }

  private async keep(): Promise<void> {
    try {
      await this.session.keep();
    } catch (error) {
      Notification.error((error as Error).message, { autoClose: false });
    }
  }

  private async tellTheEnd(): Promise<void> {
    while ((await this.session.presence()) === 'there') {
      await new Promise(resolve => setTimeout(resolve, 5_000));
      if (this.state === 'used') {
        return;
      }
    }
    this.dismiss();
    const start = {
      label: 'Start a new session',
      callback: () => window.location.assign(newSessionUrl())
    };
    Notification.info(
      'This session was stopped because it was idle. Its GPUs are now available to others.',
      {
        autoClose: false,
        actions: [start]
      }
    );
  }
}

export const idlePlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:idle',
  description: 'Warns before an idle session is stopped.',
  autoStart: true,
  requires: [ISession, IDocumentManager],
  activate: (app: JupyterFrontEnd, session: ISession, documents: IDocumentManager) =>
    void new IdleNotice(app, session, documents)
};
