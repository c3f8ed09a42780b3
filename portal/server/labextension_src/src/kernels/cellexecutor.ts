import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISessionContext } from '@jupyterlab/apputils';
import { INotebookCellExecutor, IRunCellOptions, runCell } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';

import { askPortal } from '../base/api';

const LOOK_MS = 300;

interface IMoves {
  readonly is_moving: boolean;
  /** Seconds since the kernel last has moved; null if it never has. */
  readonly moved_s: number | null;
}

interface IOutcome {
  readonly ran: boolean;
  /** It never began: its kernel was restarted, or a cell before it failed. */
  readonly isDropped: boolean;
  readonly error?: Error;
}

/** Wait until the notebook has its kernel, or it is known that there is none. */
function settle(context: ISessionContext): Promise<void> {
  return new Promise(resolve => {
    const end = (): void => {
      context.statusChanged.disconnect(look);
      context.disposed.disconnect(end);
      resolve();
    };
    const look = (): void => {
      if (context.kernelDisplayStatus !== 'initializing') {
        end();
      }
    };
    context.statusChanged.connect(look);
    context.disposed.connect(end);
    // Ends also if a kernel has to be chosen: then JupyterLab asks.
    void context.initialize().then(end, end);
    look();
  });
}

class CellExecutor implements INotebookCellExecutor {
  /** By kernel: when it last had moved, for all cells that wait for it, in their order. */
  private readonly moves = new Map<string, Promise<number>>();

  constructor(private readonly settings: ServerConnection.ISettings) {}

  async runCell(options: IRunCellOptions): Promise<boolean> {
    const { cell, sessionContext } = options;
    if (cell.model.type !== 'code' || !sessionContext) {
      return runCell(options);
    }
    if (sessionContext.kernelDisplayStatus === 'initializing') {
      cell.model.executionState = 'running';
      await settle(sessionContext);
      if (cell.isDisposed) {
        return false;
      }
    }
    for (;;) {
      const sent = Date.now();
      const { ran, isDropped, error } = await runOnce(options);
      if (!isDropped || !(await this.movedAfter(sent, options))) {
        if (error) {
          throw error;
        }
        return ran;
      }
    }
  }

  /** Return, once it has, whether the kernel of a cell has moved since the cell was sent. */
  private async movedAfter(
    sent: number,
    { cell, sessionContext }: IRunCellOptions
  ): Promise<boolean> {
    const kernel = sessionContext?.session?.kernel;
    if (!kernel || cell.isDisposed) {
      return false;
    }
    cell.model.executionState = 'running';
    const isAfter = (await this.moved(kernel.id, sessionContext)) >= sent;
    if (!isAfter && !cell.isDisposed) {
      cell.model.executionState = 'idle';
    }
    return isAfter && !cell.isDisposed;
  }

  private moved(kernel: string, context: ISessionContext): Promise<number> {
    let found = this.moves.get(kernel);
    if (!found) {
      found = this.waitForMove(kernel, context).finally(() => this.moves.delete(kernel));
      this.moves.set(kernel, found);
    }
    return found;
  }

  private async waitForMove(kernel: string, context: ISessionContext): Promise<number> {
    const path = `kernels/${encodeURIComponent(kernel)}/gpus`;
    for (;;) {
      const state = await askPortal<IMoves>(this.settings, path).catch(() => null);
      const isConnected = context.session?.kernel?.connectionStatus === 'connected';
      if (state === null || context.isDisposed || (state.moved_s === null && !state.is_moving)) {
        return 0;
      }
      if (!state.is_moving && isConnected) {
        return Date.now() - 1000 * state.moved_s!;
      }
      await new Promise(resolve => setTimeout(resolve, LOOK_MS));
    }
  }
}

async function runOnce(options: IRunCellOptions): Promise<IOutcome> {
  try {
    const ran = await runCell(options);
    return { ran, isDropped: !ran };
  } catch (reason) {
    const error = reason as Error & { readonly errorName?: string };
    // So ends the cell of `%gpu`, that those behind it do not run in the old kernel.
    if (error.errorName === 'Moved') {
      return { ran: true, isDropped: false };
    }
    // A cell that waited behind one that failed has no error of its own.
    const isDropped = !error.errorName && error.message.startsWith('KernelReplyNotOK');
    return { ran: false, isDropped, error };
  }
}

/**
 * In place of JupyterLab's own, which forgets a cell that is run while its kernel starts, or waits
 * while its kernel moves to other GPUs.
 */
export const cellExecutorPlugin: JupyterFrontEndPlugin<INotebookCellExecutor> = {
  id: 'data-scientist-portal:cell-executor',
  description: 'Runs cells, those of a notebook too whose kernel is not there yet, or moves.',
  autoStart: true,
  provides: INotebookCellExecutor,
  activate: (app: JupyterFrontEnd) => {
    const executor = new CellExecutor(app.serviceManager.serverSettings);
    return Object.freeze({ runCell: (options: IRunCellOptions) => executor.runCell(options) });
  }
};
