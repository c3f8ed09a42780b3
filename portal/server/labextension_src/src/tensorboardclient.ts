import { ServerConnection } from '@jupyterlab/services';

import { askPortal, fetchPortal } from './api';

/** One TensorBoard, as `portal/api/tensorboards` describes it; a page of MLflow has the same. */
export interface ITensorBoard {
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
export class TensorBoardClient {
  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly viewer: Viewer = 'tensorboards'
  ) {}

  list(): Promise<ITensorBoard[]> {
    return askPortal(this.settings, this.viewer);
  }

  open(logdirs: ReadonlyArray<string>): Promise<ITensorBoard> {
    const body = logdirs.length === 1 ? { logdir: logdirs[0] } : { logdirs };
    return askPortal(this.settings, this.viewer, 'POST', body);
  }

  async stop(id: string): Promise<void> {
    await fetchPortal(this.settings, `portal/api/${this.viewer}/${id}`, 'DELETE');
  }
}
