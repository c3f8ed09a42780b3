import { Notification } from '@jupyterlab/apputils';
import { KernelSpec } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';

import { EnvironmentClient, ITask, Order } from './client';

const POLL_MS = 1_000;
/** Of this tab: the tasks whose end it has not told yet. */
const STORAGE_KEY = 'data-scientist-portal:environment-tasks';

/** Starts tasks and tells how they end, also those that a page started before it was reloaded. */
export class EnvironmentTasks {
  private readonly ended = new Map<string, (task: ITask) => void>();
  private readonly shown = new Set<string>();
  private readonly _changed = new Signal<this, ITask>(this);
  private isPolling = false;

  constructor(
    readonly client: EnvironmentClient,
    private readonly specs: KernelSpec.IManager,
    readonly openNotebook: (kernel: string) => void
  ) {
    void this.poll();
  }

  /** Emitted after each look at a task that runs or has just ended. */
  get changed(): ISignal<this, ITask> {
    return this._changed;
  }

  async start(order: Order): Promise<ITask> {
    const task = await this.client.start(order);
    remember([...remembered(), task.id]);
    void this.poll();
    return task;
  }

  /** The task when it has ended, and the kernels are known again. */
  end(id: string): Promise<ITask> {
    return new Promise(resolve => this.ended.set(id, resolve));
  }

  /** Whether somebody looks at the task, so that its end needs no notification. */
  show(id: string, isShown: boolean): void {
    if (isShown) {
      this.shown.add(id);
    } else {
      this.shown.delete(id);
    }
  }

  private async poll(): Promise<void> {
    if (this.isPolling || remembered().length === 0) {
      return;
    }
    this.isPolling = true;
    try {
      while (remembered().length > 0) {
        const tasks = await this.client.tasks().catch(() => null);
        // Tasks of an earlier session are forgotten.
        remember(remembered().filter(id => tasks === null || tasks.some(task => task.id === id)));
        for (const task of tasks ?? []) {
          if (remembered().includes(task.id)) {
            await this.take(task);
          }
        }
        await new Promise(resolve => window.setTimeout(resolve, POLL_MS));
      }
    } finally {
      this.isPolling = false;
    }
  }

  private async take(task: ITask): Promise<void> {
    if (task.state !== 'running') {
      remember(remembered().filter(id => id !== task.id));
      await this.specs.refreshSpecs().catch(error => console.warn('No kernels listed', error));
      if (!this.shown.has(task.id)) {
        this.tell(task);
      }
      // A dialog closes first, then comes what is shown at the end.
      this._changed.emit(task);
      this.ended.get(task.id)?.(task);
      this.ended.delete(task.id);
      return;
    }
    this._changed.emit(task);
  }

  private tell(task: ITask): void {
    if (task.state === 'cancelled') {
      Notification.info(`${task.name}: ${task.sentence}`, { autoClose: 8_000 });
      return;
    }
    if (task.state === 'failed') {
      Notification.error(`${task.name}: ${failureText(task)}`, { autoClose: false });
      return;
    }
    const open = {
      label: 'Open a notebook',
      callback: () => this.openNotebook(task.kernel)
    };
    Notification.success(doneText(task), {
      autoClose: false,
      actions: ['new', 'add', 'update'].includes(task.action) ? [open] : []
    });
  }
}

/** Why a task failed; what it printed is in the terminal above that sentence, but not here. */
export function failureText({ sentence }: ITask): string {
  return sentence.replace(/; what [\w ]+ said is above/, '');
}

/** What is told when a task has succeeded. */
export function doneText({ action, name }: ITask): string {
  switch (action) {
    case 'share':
      return `The environment ${name} has been shared.`;
    case 'unshare':
      return `The environment ${name} is no longer shared.`;
    case 'remove':
      return `The environment ${name} has been removed.`;
    case 'update':
      return `The environment ${name} has been updated. Restart its kernels.`;
    default:
      return `Environment ${name} is ready. You can choose it as a kernel.`;
  }
}

function remembered(): string[] {
  return (window.sessionStorage.getItem(STORAGE_KEY) ?? '').split(' ').filter(id => id);
}

function remember(ids: ReadonlyArray<string>): void {
  window.sessionStorage.setItem(STORAGE_KEY, ids.join(' '));
}
