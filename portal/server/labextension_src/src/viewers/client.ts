import { ServerConnection } from '@jupyterlab/services';

import { askPortal, fetchPortal } from '../base/api';

/** A page of TensorBoard or MLflow, as `portal/api/tensorboards` or `portal/api/mlflow` describes it. */
export interface IFolderPage {
  readonly id: string;
  /** The folder that it shows, or the one that holds all of them. */
  readonly logdir: string;
  readonly logdirs: ReadonlyArray<string>;
  /** Path of its pages on this host. */
  readonly url: string;
  /** What is slower than it should be, or "". */
  readonly note: string;
}

/** What shows folders: the last part of its address in the portal's REST interface. */
export type Viewer = 'tensorboards' | 'mlflow';

/** The REST interface of the portal's server extension. Errors carry the server's sentence. */
export class ViewerClient {
  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly viewer: Viewer = 'tensorboards'
  ) {}

  list(): Promise<IFolderPage[]> {
    return askPortal(this.settings, this.viewer);
  }

  open(logdirs: ReadonlyArray<string>): Promise<IFolderPage> {
    const body = logdirs.length === 1 ? { logdir: logdirs[0] } : { logdirs };
    return askPortal(this.settings, this.viewer, 'POST', body);
  }

  async stop(id: string): Promise<void> {
    await fetchPortal(this.settings, `portal/api/${this.viewer}/${id}`, 'DELETE');
  }
}
