import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { Poll } from '@lumino/polling';
import { Signal } from '@lumino/signaling';
import { LabIcon } from '@jupyterlab/ui-components';

import { mlflowIcon, tensorBoardIcon } from '../base/icon';
import { hasMlflow } from '../viewers/mlflow';
import { IFolderPage, ViewerClient } from './client';

const INTERVAL_MS = 10_000;

/** The TensorBoards of the session, or its pages of MLflow, in the list of running kernels and terminals. */
class RunningPages implements IRunningSessions.IManager {
  readonly shutdownLabel = 'Stop';
  readonly shutdownAllLabel = 'Stop All';
  readonly runningChanged = new Signal<this, void>(this);
  private pages: IFolderPage[] = [];

  private readonly poll: Poll;

  constructor(
    readonly name: string,
    private readonly icon: LabIcon,
    private readonly client: ViewerClient
  ) {
    this.poll = new Poll({
      name: `data-scientist-portal:running-${name}`,
      factory: () => this.read(),
      frequency: { interval: INTERVAL_MS, backoff: true },
      standby: 'when-hidden'
    });
  }

  running(): IRunningSessions.IRunningItem[] {
    return this.pages.map(page => ({
      icon: () => this.icon,
      label: () => page.logdirs.join(', '),
      labelTitle: () => 'Open it in a tab of its own',
      open: () => void window.open(page.url, '_blank'),
      shutdown: () => void this.stop([page])
    }));
  }

  shutdownAll(): void {
    void this.stop(this.pages);
  }

  refreshRunning(): void {
    void this.poll.refresh();
  }

  private async stop(pages: ReadonlyArray<IFolderPage>): Promise<void> {
    try {
      await Promise.all(pages.map(page => this.client.stop(page.id)));
    } catch (error) {
      Notification.error((error as Error).message);
    }
    await this.poll.refresh();
  }

  private async read(): Promise<void> {
    this.pages = await this.client.list();
    this.runningChanged.emit();
  }
}

export const runningPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:running',
  description: 'Lists and stops the TensorBoards and pages of MLflow of the session.',
  autoStart: true,
  requires: [IRunningSessionManagers],
  activate: (app: JupyterFrontEnd, managers: IRunningSessionManagers) => {
    const settings = app.serviceManager.serverSettings;
    const pages = new ViewerClient(settings);
    managers.add(new RunningPages('TensorBoards', tensorBoardIcon, pages));
    if (hasMlflow()) {
      const pages = new ViewerClient(settings, 'mlflow');
      managers.add(new RunningPages('MLflow', mlflowIcon, pages));
    }
  }
};
