import { URLExt } from '@jupyterlab/coreutils';
import { Contents, Drive, ServerConnection } from '@jupyterlab/services';

export const S3 = 'S3';
const MIB = 1024 * 1024;
// S3 takes at most 10,000 parts of a file, each but the last of at least 5 MiB.
const LEAST_PART_BYTES = 8 * MIB;
const MOST_PARTS = 10_000;

/** The site's S3 store; its buckets are the folders at the top. */
export class S3Drive extends Drive {
  constructor(
    serverSettings: ServerConnection.ISettings,
    private readonly tellCut: (path: string) => void
  ) {
    super({ name: S3, apiEndpoint: 'portal/api/s3/contents', serverSettings });
  }

  async get(path: string, options?: Contents.IFetchOptions): Promise<Contents.IModel> {
    const model = await super.get(path, options);
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

/** The size of the parts in which a file of so many bytes is sent. */
export function partBytes(size: number): number {
  return Math.max(LEAST_PART_BYTES, Math.ceil(size / MOST_PARTS / MIB) * MIB);
}
