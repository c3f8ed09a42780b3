import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { IRunningSessionManagers, IRunningSessions } from '@jupyterlab/running';
import { ServerConnection } from '@jupyterlab/services';
import { Poll } from '@lumino/polling';
import { Signal } from '@lumino/signaling';

import { askPortal } from '../base/api';
import { gpuIcon } from '../base/icon';

const INTERVAL_MS = 15_000;

interface IHeld {
  readonly kernel: string;
  readonly notebook: string;
  readonly words: string;
  /** GPU hours held and, where known, used. */
  readonly hours: string;
}

/** The GPUs of kernels, in the list of running kernels and terminals. */
class HeldGpus implements IRunningSessions.IManager {
  readonly name = 'GPUs of kernels';
  readonly shutdownLabel = 'Give back';
  readonly shutdownAllLabel = 'Give All Back';
  readonly runningChanged = new Signal<this, void>(this);
  private held: IHeld[] = [];

  private readonly poll = new Poll({
    name: 'data-scientist-portal:held-gpus',
    factory: () => this.read(),
    frequency: { interval: INTERVAL_MS, backoff: true },
    standby: 'when-hidden'
  });

  constructor(private readonly settings: ServerConnection.ISettings) {}

  running(): IRunningSessions.IRunningItem[] {
    return this.held.map(one => ({
      icon: () => gpuIcon,
      label: () => `${one.notebook}: ${one.words}`,
      labelTitle: () => one.hours,
      detail: () => one.hours,
      shutdown: () => void this.giveBack([one])
    }));
  }

  shutdownAll(): void {
    void this.giveBack(this.held);
  }

  refreshRunning(): void {
    void this.poll.refresh();
  }

  private async giveBack(held: ReadonlyArray<IHeld>): Promise<void> {
    const none = { gpus: 0 };
    try {
      await Promise.all(
        held.map(one =>
          askPortal(this.settings, `kernels/${encodeURIComponent(one.kernel)}/gpus`, 'POST', none)
        )
      );
    } catch (error) {
      Notification.error((error as Error).message, { autoClose: false });
    }
    await this.poll.refresh();
  }

  private async read(): Promise<void> {
    this.held = await askPortal<IHeld[]>(this.settings, 'kernel-gpus/held');
    this.runningChanged.emit();
  }
}

export const heldGpusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:held-gpus',
  description: 'Lists the GPUs of kernels, and gives them back.',
  autoStart: true,
  requires: [IRunningSessionManagers],
  activate: (app: JupyterFrontEnd, managers: IRunningSessionManagers) => {
    if (PageConfig.getOption('kernelGpus') === 'true') {
      managers.add(new HeldGpus(app.serviceManager.serverSettings));
    }
  }
};
