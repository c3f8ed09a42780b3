import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { Poll } from '@lumino/polling';
import { Signal } from '@lumino/signaling';

import { tensorBoardIcon } from './icon';
import { ITensorBoard, TensorBoardClient } from './tensorboardclient';

const INTERVAL_MS = 10_000;

/** The TensorBoards of the session in the list of running kernels and terminals. */
class RunningTensorBoards implements IRunningSessions.IManager {
  readonly name = 'TensorBoards';
  readonly shutdownLabel = 'Stop';
  readonly shutdownAllLabel = 'Stop All';
  readonly runningChanged = new Signal<this, void>(this);
  private boards: ITensorBoard[] = [];

  private readonly poll: Poll;

  constructor(private readonly client: TensorBoardClient) {
    this.poll = new Poll({
      name: 'data-scientist-portal:running',
      factory: () => this.read(),
      frequency: { interval: INTERVAL_MS, backoff: true },
      standby: 'when-hidden'
    });
  }

  running(): IRunningSessions.IRunningItem[] {
    return this.boards.map(board => ({
      icon: () => tensorBoardIcon,
      label: () => board.logdirs.join(', '),
      labelTitle: () => 'Open this TensorBoard',
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
  description: 'Lists and stops the TensorBoards of the session.',
  autoStart: true,
  requires: [IRunningSessionManagers],
  activate: (app: JupyterFrontEnd, managers: IRunningSessionManagers) => {
    managers.add(new RunningTensorBoards(new TensorBoardClient(app.serviceManager.serverSettings)));
  }
};
