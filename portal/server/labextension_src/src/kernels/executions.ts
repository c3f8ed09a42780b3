import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { Kernel, KernelMessage, ServerConnection } from '@jupyterlab/services';
import { PromiseDelegate } from '@lumino/coreutils';
import { Widget } from '@lumino/widgets';

import { askPortal, fetchPortal } from '../base/api';

type Context = NonNullable<ReturnType<IDocumentManager['contextForWidget']>>;

/** See portal/server/kernels/executions.py. */
interface IExecution {
  readonly id: string;
  readonly tab: string;
  readonly has_tab: boolean;
  readonly is_missed: boolean;
  readonly cell_id: string;
  readonly code: string;
  readonly state: 'queued' | 'running' | 'done';
  readonly execution_count: number | null;
  readonly outputs: ReadonlyArray<{ msg_type: string; content: object; metadata: object }>;
  readonly last: number;
}

/** What is used of a cell of a notebook. */
interface ICell extends Widget {
  readonly model: {
    readonly id: string;
    readonly type: string;
    readonly sharedModel: { getSource(): string };
    trusted: boolean;
    executionCount: number | null;
    executionState: 'idle' | 'running' | null;
  };
  readonly outputArea: { future: Kernel.IShellFuture | null };
}

interface IPanel extends Widget {
  readonly content: Widget & { readonly widgets: ReadonlyArray<ICell> };
}

const INTERVAL_MS = 1_000;
/** Whether several pages show one and the same document; empty without Jupyter's collaboration. */
const IS_SHARED = PageConfig.getOption('disableRTC') === 'false';

/** Stands for the request that an earlier tab sent, so that JupyterLab itself shows the output. */
class EarlierRequest {
  readonly msg = {};
  isDisposed = false;
  onIOPub: (message: KernelMessage.IIOPubMessage) => void = () => undefined;
  onReply: () => void = () => undefined;
  onStdin: () => void = () => undefined;

  private readonly end = new PromiseDelegate<undefined>();
  readonly done = this.end.promise;

  dispose(): void {
    this.isDisposed = true;
    this.end.resolve(undefined);
  }
}

/** Shows in a notebook what its cells print that were running when it was closed or reloaded. */
class EarlierExecutions {
  private readonly shown = new Set<string>();
  private readonly ended = new Set<string>();
  private kernel: Kernel.IKernelConnection | null = null;

  constructor(
    private readonly panel: IPanel,
    private readonly context: Context,
    private readonly settings: ServerConnection.ISettings
  ) {
    context.sessionContext.kernelChanged.connect((_, { newValue }) => void this.follow(newValue));
    // The notebook now has the output, so the server need not keep it.
    context.saveState.connect((_, state) => {
      if (state === 'completed') {
        [...this.ended].forEach(id => void this.forget(id));
        void this.forgetOwn();
      }
    });
    void context.sessionContext.ready.then(() =>
      this.follow(context.sessionContext.session?.kernel ?? null)
    );
  }

  private async follow(kernel: Kernel.IKernelConnection | null): Promise<void> {
    if (kernel === null || kernel.id === this.kernel?.id) {
      return;
    }
    this.kernel = kernel;
    await this.context.ready;
    // Another tab may still have its cells; the server hears some time later that it is gone.
    while (!this.panel.isDisposed && this.kernel === kernel) {
      const others = (await this.ask(kernel)).filter(each => each.tab !== kernel.clientId);
      others
        .filter(each => !each.has_tab && !this.shown.has(each.id))
        .forEach(each => void this.show(kernel, each));
      if (!IS_SHARED && !others.some(each => each.has_tab)) {
        return;
      }
      await pause(3 * INTERVAL_MS);
    }
  }

  private async show(kernel: Kernel.IKernelConnection, execution: IExecution): Promise<void> {
    this.shown.add(execution.id);
    // Output that two pages add to the document that they share would be there twice.
    if (IS_SHARED && !(await this.claim(kernel, execution.id))) {
      this.shown.delete(execution.id);
      return;
    }
    const cell = this.cellOf(execution);
    if (cell === undefined) {
      this.tellLost(execution);
      return;
    }
    if (execution.state === 'done' && !execution.is_missed && isShownBy(cell, execution)) {
      void this.forget(execution.id);
      return;
    }
    const request = new EarlierRequest();
    cell.model.trusted = true;
    cell.outputArea.future = request as unknown as Kernel.IShellFuture;
    let state: IExecution | undefined = execution;
    while (state !== undefined) {
      this.feed(cell, request, state);
      if (state.state === 'done') {
        break;
      }
      await pause(INTERVAL_MS);
      if (request.isDisposed || cell.isDisposed) {
        // The user has run the cell again, or closed the notebook.
        return;
      }
      // None if the kernel is gone, or the user has run the cell again.
      state = (await this.ask(kernel, execution.id, state.last)).find(() => true);
    }
    if (!request.isDisposed) {
      cell.model.executionState = 'idle';
      this.ended.add(execution.id);
    }
  }

  private feed(cell: ICell, request: EarlierRequest, execution: IExecution): void {
    for (const { msg_type, content, metadata } of execution.outputs) {
      const message = { header: { msg_type }, content, metadata, parent_header: {} };
      request.onIOPub(message as unknown as KernelMessage.IIOPubMessage);
    }
    if (execution.state !== 'done' && cell.model.executionState !== 'running') {
      cell.model.executionState = 'running';
    }
    if (execution.execution_count !== null) {
      cell.model.executionCount = execution.execution_count;
    }
  }

  private cellOf(execution: IExecution): ICell | undefined {
    const cells = this.panel.content.widgets.filter(cell => cell.model.type === 'code');
    const alike = cells.filter(cell => cell.model.sharedModel.getSource() === execution.code);
    // Output of what has ended belongs to the code that it came from.
    const withId = execution.state === 'done' ? alike : cells;
    // Notebooks of older formats have no lasting ids.
    return (
      withId.find(cell => cell.model.id === execution.cell_id) ??
      (alike.length === 1 ? alike[0] : undefined)
    );
  }

  private tellLost(execution: IExecution): void {
    if (execution.state === 'done') {
      void this.forget(execution.id);
      return;
    }
    Notification.info(
      'The kernel is still running a cell that is no longer in this notebook. To stop it, choose Kernel > Interrupt Kernel.',
      { autoClose: 20_000 }
    );
  }

  private async ask(
    kernel: Kernel.IKernelConnection,
    id = '',
    after = 0
  ): Promise<ReadonlyArray<IExecution>> {
    const query = `id=${encodeURIComponent(id)}&after=${after}`;
    const path = `kernels/${kernel.id}/executions?${query}`;
    while (!this.panel.isDisposed && !kernel.isDisposed) {
      try {
        return await askPortal<ReadonlyArray<IExecution>>(this.settings, path);
      } catch {
        // The network comes back; the kernel runs on meanwhile.
        await pause(5 * INTERVAL_MS);
      }
    }
    return [];
  }

  private async claim(kernel: Kernel.IKernelConnection, id: string): Promise<boolean> {
    const tab = encodeURIComponent(kernel.clientId);
    const path = `portal/api/kernels/${kernel.id}/executions/${encodeURIComponent(id)}?tab=${tab}`;
    const answer = await fetchPortal(this.settings, path, 'POST').catch(() => undefined);
    return answer?.ok ?? false;
  }

  private async forgetOwn(): Promise<void> {
    if (this.kernel !== null) {
      const { id, clientId } = this.kernel;
      const path = `portal/api/kernels/${id}/executions?tab=${encodeURIComponent(clientId)}`;
      await fetchPortal(this.settings, path, 'DELETE').catch(() => undefined);
    }
  }

  private async forget(id: string): Promise<void> {
    this.ended.delete(id);
    const path = `portal/api/kernels/${this.kernel!.id}/executions/${encodeURIComponent(id)}`;
    // If this fails, the next page shows the same output once more.
    await fetchPortal(this.settings, path, 'DELETE').catch(() => undefined);
  }
}

/** Whether the notebook was saved with the cell's whole output. */
function isShownBy(cell: ICell, execution: IExecution): boolean {
  return cell.model.executionCount === execution.execution_count;
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}

/** In JupyterLab and Notebook. */
export const executionsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:executions',
  description: 'Continues the output of cells that were running when a notebook was closed.',
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    app.docRegistry.addWidgetExtension('Notebook', {
      createNew: (panel, context) => {
        new EarlierExecutions(
          panel as unknown as IPanel,
          context,
          app.serviceManager.serverSettings
        );
      }
    });
  }
};
