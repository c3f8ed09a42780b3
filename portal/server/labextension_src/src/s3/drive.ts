import { URLExt } from '@jupyterlab/coreutils';
import { Contents, Drive, ServerConnection } from '@jupyterlab/services';

export const S3 = 'S3';
const MIB = 1024 * 1024;
// S3 takes at most 10,000 parts of a file, each but the last of at least 5 MiB.
const LEAST_PART_BYTES = 8 * MIB;
const MOST_PARTS = 10_000;

/** A bucket or folder that is listed is not there. */
export class GoneError extends Error {
  constructor(
    message: string,
    readonly isTop: boolean
  ) {
    super(message);
  }
}

/** The site's S3 store; its buckets are the folders at the top. */
export class S3Drive extends Drive {
  constructor(
    serverSettings: ServerConnection.ISettings,
    private readonly tellCut: (path: string) => void
  ) {
    super({ name: S3, apiEndpoint: 'portal/api/s3/contents', serverSettings });
  }

  async get(path: string, options?: Contents.IFetchOptions): Promise<Contents.IModel> {
    const model = await super.get(path, options).catch((error: unknown) => {
      const isGone =
        error instanceof ServerConnection.ResponseError && error.response.status === 404;
      // For a folder of status 404, JupyterLab's file browser shows a text of its own instead.
      throw isGone && isList(options) ? new GoneError(error.message, path === '') : error;
    });
    if ((model as { is_cut?: boolean }).is_cut) {
      this.tellCut(path);
    }
    return model;
  }

  getDownloadUrl(path: string): Promise<string> {
    const { baseUrl } = this.serverSettings;
    return Promise.resolve(
      URLExt.join(baseUrl, 'portal/api/s3/files', URLExt.encodeParts(path.replace(/^\/+/, '')))
    );
  }

  /** S3 keeps versions itself, where its administrators want them. */
  createCheckpoint(): Promise<Contents.ICheckpointModel> {
    return Promise.resolve({ id: 'none', last_modified: new Date(0).toISOString() });
  }

  listCheckpoints(): Promise<Contents.ICheckpointModel[]> {
    return Promise.resolve([]);
  }

  restoreCheckpoint(): Promise<void> {
    return Promise.reject(new Error('There are no checkpoints of files in S3.'));
  }

  deleteCheckpoint(): Promise<void> {
    return Promise.resolve();
  }
}

/** Whether a file browser asks, which does not know more than the path. */
function isList(options?: Contents.IFetchOptions): boolean {
  return options?.content === true && (options.type ?? 'directory') === 'directory';
}

/** The size of the parts in which a file of so many bytes is sent. */
export function partBytes(size: number): number {
  return Math.max(LEAST_PART_BYTES, Math.ceil(size / MOST_PARTS / MIB) * MIB);
}
