import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { PageConfig, PathExt } from '@jupyterlab/coreutils';
import { shouldOverwrite } from '@jupyterlab/docmanager';
import {
  FileBrowserModel,
  IDefaultFileBrowser,
  IFileBrowserFactory
} from '@jupyterlab/filebrowser';
import { Contents, ServiceManager } from '@jupyterlab/services';

import { askPortal } from '../base/api';
import { CHUNK_BYTES, ITransport, sendFile } from './chunks';
import { formatBytes } from '../base/format';

interface IUploadState {
  readonly offset: number;
  readonly is_taken: boolean;
  readonly other_parts: ReadonlyArray<{ readonly name: string; readonly size_bytes: number }>;
}

/** One file on its way into a folder of the session, or of another drive that `api` serves. */
export class Upload implements ITransport {
  private replaces = false;
  private isCancelled = false;
  private lostSince: number | null = null;
  private readonly place: string;
  private notice = '';

  constructor(
    private readonly services: ServiceManager.IManager,
    private readonly file: File,
    private readonly path: string,
    private readonly api = 'uploads',
    private readonly chunkBytes = CHUNK_BYTES
  ) {
    const local = services.contents.localPath(path);
    const { size, lastModified } = file;
    this.place = `path=${encodeURIComponent(local)}&size=${size}&modified=${lastModified}`;
  }

  /** Ask, send, and return what the file has become. */
  async run(): Promise<Contents.IModel> {
    const state = await this.state();
    if (state.is_taken && !(await shouldOverwrite(this.file.name))) {
      throw new Error(`${this.file.name} was not uploaded.`);
    }
    this.replaces = state.is_taken;
    const actions = [{ label: 'Cancel', callback: () => void (this.isCancelled = true) }];
    this.notice = Notification.emit(this.text(state.offset), 'in-progress', {
      autoClose: false,
      progress: state.offset / (this.file.size || 1),
      actions
    });
    this.tellOfOthers(state);
    running.add(this);
    try {
      const watcher = {
        progress: (sent: number) => this.show(sent),
        lost: () => this.showLost(),
        wait: (ms: number) => this.wait(ms),
        isCancelled: () => this.isCancelled
      };
      const isComplete = await sendFile(this.file, this, watcher, this.chunkBytes);
      if (!isComplete) {
        await askPortal(this.services.serverSettings, `${this.api}?${this.place}`, 'DELETE');
        throw new Error(`The upload of ${this.file.name} was cancelled.`);
      }
    } finally {
      running.delete(this);
      Notification.dismiss(this.notice);
    }
    return this.services.contents.get(this.path, { content: false });
  }

  async offset(): Promise<number> {
    return (await this.state()).offset;
  }

  async send(offset: number, chunk: Blob): Promise<number> {
    const path = `${this.api}?${this.place}&offset=${offset}&replaces=${this.replaces ? 1 : 0}`;
    const { serverSettings } = this.services;
    return (await askPortal<{ offset: number }>(serverSettings, path, 'PUT', chunk)).offset;
  }

  private state(): Promise<IUploadState> {
    return askPortal<IUploadState>(this.services.serverSettings, `${this.api}?${this.place}`);
  }

  private tellOfOthers({ other_parts: parts }: IUploadState): void {
    if (parts.length > 0) {
      const names = parts.map(({ name, size_bytes: n }) => `${name} (${formatBytes(n)})`);
      Notification.info(
        `An earlier upload of another ${this.file.name} was not completed. Delete its parts if ` +
          `you do not need them: ${names.join(', ')}.`,
        { autoClose: false }
      );
    }
  }

  private show(sent: number): void {
    this.lostSince = null;
    if (sent >= this.file.size) {
      // The notice goes now. JupyterLab draws an update a moment later, and would show it again.
      return;
    }
    const progress = sent / (this.file.size || 1);
    Notification.update({ id: this.notice, message: this.text(sent), progress });
  }

  private showLost(): void {
    this.lostSince ??= Date.now();
    const message = `The upload of ${this.file.name} continues as soon as the session answers again.`;
    Notification.update({ id: this.notice, message });
  }

  private text(sent: number): string {
    const { name, size } = this.file;
    return `Uploading ${name}: ${formatBytes(sent)} of ${formatBytes(size)}`;
  }

  private async wait(ms: number): Promise<void> {
    const ends = performance.now() + ms;
    while (!this.isCancelled && performance.now() < ends) {
      await new Promise(resolve => window.setTimeout(resolve, 200));
    }
  }
}

const running = new Set<Upload>();

/** Have a file browser upload what has more than one chunk in a way that can be resumed. */
function resume(services: ServiceManager.IManager, model: FileBrowserModel): void {
  const plain = model.upload.bind(model);
  model.upload = (file: File, path?: string) => {
    const folder = path ?? model.path;
    const isLocal = services.contents.driveName(folder) === '';
    if (!isLocal || file.size <= CHUNK_BYTES) {
      return plain(file, path);
    }
    return new Upload(services, file, PathExt.join(folder, file.name)).run();
  };
}

export const uploadPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:upload',
  description: 'Uploads large files in chunks, and continues after a lost connection.',
  autoStart: true,
  optional: [IFileBrowserFactory, IDefaultFileBrowser],
  activate: (
    app: JupyterFrontEnd,
    factory: IFileBrowserFactory | null,
    defaultBrowser: IDefaultFileBrowser | null
  ) => {
    if (PageConfig.getOption('portalUploads') !== 'true') {
      return;
    }
    const seen = new WeakSet<FileBrowserModel>();
    const take = (model: FileBrowserModel | undefined) => {
      if (model && !seen.has(model)) {
        seen.add(model);
        resume(app.serviceManager, model);
      }
    };
    take(defaultBrowser?.model);
    factory?.tracker.forEach(browser => take(browser.model));
    factory?.tracker.widgetAdded.connect((_, browser) => take(browser.model));
    window.addEventListener('beforeunload', event => {
      if (running.size > 0) {
        event.preventDefault();
      }
    });
  }
};
