import { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISessionContext } from '@jupyterlab/apputils';
import { INotebookCellExecutor, IRunCellOptions, runCell } from '@jupyterlab/notebook';

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

async function runCellWithKernel(options: IRunCellOptions): Promise<boolean> {
  const { cell, sessionContext } = options;
  if (cell.model.type === 'code' && sessionContext?.kernelDisplayStatus === 'initializing') {
    cell.model.executionState = 'running';
    await settle(sessionContext);
    if (cell.isDisposed) {
      return false;
    }
  }
  return runCell(options);
}

/** In place of JupyterLab's own, which forgets a cell that is run while its kernel starts. */
export const cellExecutorPlugin: JupyterFrontEndPlugin<INotebookCellExecutor> = {
  id: 'data-scientist-portal:cell-executor',
  description: 'Runs cells, those of a notebook too whose kernel is not there yet.',
  autoStart: true,
  provides: INotebookCellExecutor,
  activate: () => Object.freeze({ runCell: runCellWithKernel })
};
