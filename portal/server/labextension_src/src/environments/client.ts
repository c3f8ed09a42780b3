import { ServerConnection } from '@jupyterlab/services';

import { askPortal, fetchPortal } from '../base/api';

/** A command on an environment that runs or ran: see portal/server/environments/tasks.py. */
export interface ITask {
  readonly id: string;
  readonly action: 'new' | 'add' | 'update' | 'remove' | 'share' | 'unshare';
  /** Short name of the environment. */
  readonly name: string;
  readonly kernel: string;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  readonly step: string;
  readonly n_steps_done: number;
  readonly n_steps: number;
  /** The last line of its output, once it has ended. */
  readonly sentence: string;
}

export interface IChoices {
  /** Names of the shipped kernels. */
  readonly kernels: ReadonlyArray<string>;
  /** Names of the user's groups. */
  readonly groups: ReadonlyArray<string>;
  readonly has_container: boolean;
}

export interface IOwnEnvironment {
  readonly id: string;
  readonly name: string;
  readonly kernel: string;
  readonly kind: string;
  readonly place: string;
  readonly size_mib: number | null;
  readonly is_gone: boolean;
  readonly is_locked: boolean;
  readonly is_deleted: boolean;
  /** The group that it is shared with, or "". */
  readonly group: string;
}

export interface IListing {
  readonly environments: ReadonlyArray<{
    name: string;
    kernel: string;
    problem: string;
    own: boolean;
  }>;
  readonly problems: ReadonlyArray<string>;
}

export type Order = Readonly<Record<string, string | boolean>>;

/** The REST interface of environments; see portal/server/environments/handlers.py. */
export class EnvironmentClient {
  constructor(private readonly settings: ServerConnection.ISettings) {}

  listing(): Promise<IListing> {
    return this.ask('');
  }

  choices(): Promise<IChoices> {
    return this.ask('/choices');
  }

  own(): Promise<ReadonlyArray<IOwnEnvironment>> {
    return this.ask('/own');
  }

  exported(id: string): Promise<{ text: string }> {
    return this.ask(`/own/${encodeURIComponent(id)}/export`);
  }

  tasks(): Promise<ReadonlyArray<ITask>> {
    return this.ask('/tasks');
  }

  /** A task, and what it has printed from a byte on. */
  task(id: string, offset: number): Promise<ITask & { log: { text: string; offset: number } }> {
    return this.ask(`/tasks/${id}?offset=${offset}`);
  }

  start(order: Order): Promise<ITask> {
    return this.ask('/tasks', 'POST', order);
  }

  async cancel(id: string): Promise<void> {
    await fetchPortal(this.settings, `portal/api/environments/tasks/${id}`, 'DELETE');
  }

  private ask<T>(path: string, method = 'GET', body?: unknown): Promise<T> {
    return askPortal<T>(this.settings, `environments${path}`, method, body);
  }
}
