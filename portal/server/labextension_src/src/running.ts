import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { Poll } from '@lumino/polling';
import { Signal } from '@lumino/signaling';
import { LabIcon } from '@jupyterlab/ui-components';

import { mlflowIcon, tensorBoardIcon } from './icon';
import { hasMlflow } from './mlflow';
import { ITensorBoard, TensorBoardClient } from './tensorboardclient';

const INTERVAL_MS = 10_000;

/** The TensorBoards of the session, or its pages of MLflow, in the list of running kernels and terminals. */
class RunningTensorBoards implements IRunningSessions.IManager {
  readonly shutdownLabel = 'Stop';
  readonly shutdownAllLabel = 'Stop All';
  readonly runningChanged = new Signal<this, void>(this);
  private boards: ITensorBoard[] = [];

  private readonly poll: Poll;

  constructor(
    readonly name: string,
    private readonly icon: LabIcon,
    private readonly client: TensorBoardClient
  ) {
    this.poll = new Poll({
      name: `data-scientist-portal:running-${name}`,
      factory: () => this.read(),
      frequency: { interval: INTERVAL_MS, backoff: true },
      standby: 'when-hidden'
    });
  }

  running(): IRunningSessions.IRunningItem[] {
    return this.boards.map(board => ({
      icon: () => this.icon,
      label: () => board.logdirs.join(', '),
      labelTitle: () => 'Open it in a tab of its own',
      open: () => void window.open(board.url, '_blank'),
      shutdown: () => void this.stop([board])
    }));
  }

  shutdownAll(): void {
    void this.stop(this.boards);
  }

  refreshRunning(): void {
    void this.poll.refresh();
  }

  private async stop(boards: ReadonlyArray<ITensorBoard>): Promise<void> {
    try {
      await Promise.all(boards.map(board => this.client.stop(board.id)));
    } catch (error) {
      Notification.error((error as Error).message);
    }
    await this.poll.refresh();
  }

  private async read(): Promise<void> {
    this.boards = await this.client.list();
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
    const boards = new TensorBoardClient(settings);
    managers.add(new RunningTensorBoards('TensorBoards', tensorBoardIcon, boards));
    if (hasMlflow()) {
      const pages = new TensorBoardClient(settings, 'mlflow');
      managers.add(new RunningTensorBoards('MLflow', mlflowIcon, pages));
    }
  }
};
