/** What is used of JupyterLab's notebook package; it is in every page already, so never bundled. */
declare module '@jupyterlab/notebook' {
  import { ISessionContext } from '@jupyterlab/apputils';
  import { Token } from '@lumino/coreutils';
  import { Widget } from '@lumino/widgets';

  export interface IRunCellOptions {
    readonly cell: Widget & {
      readonly model: { readonly type: string; executionState?: 'idle' | 'running' | null };
    };
    readonly sessionContext?: ISessionContext;
  }

  export interface INotebookCellExecutor {
    runCell(options: IRunCellOptions): Promise<boolean>;
  }

  export const INotebookCellExecutor: Token<INotebookCellExecutor>;
  export const runCell: INotebookCellExecutor['runCell'];
}
