import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** One TensorBoard, as `portal/api/tensorboards` describes it. */
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

/** The REST interface of the portal's server extension. Errors carry the server's sentence. */
export class TensorBoardClient {
  constructor(private readonly settings: ServerConnection.ISettings) {}

  async list(): Promise<ITensorBoard[]> {
    return (await this.request('GET', '')).json();
  }

  async open(logdirs: ReadonlyArray<string>): Promise<ITensorBoard> {
    const body = logdirs.length === 1 ? { logdir: logdirs[0] } : { logdirs };
    return (await this.request('POST', '', JSON.stringify(body))).json();
  }

  async stop(id: string): Promise<void> {
    await this.request('DELETE', `/${id}`);
  }

  private async request(method: string, path: string, body?: string): Promise<Response> {
    const url = URLExt.join(this.settings.baseUrl, 'portal/api/tensorboards') + path;
    const response = await ServerConnection.makeRequest(url, { method, body }, this.settings);
    if (!response.ok) {
      throw new Error(await sentenceOf(response));
    }
    return response;
  }
}

async function sentenceOf(response: Response): Promise<string> {
  const answer = await response.json().catch(() => ({}));
  return (
    answer.message ??
    `The notebook server answered ${response.status}. Reload the page and try again.`
  );
}
