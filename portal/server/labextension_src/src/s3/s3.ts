import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, Notification, showErrorMessage } from '@jupyterlab/apputils';
import { PageConfig, PathExt } from '@jupyterlab/coreutils';
import {
  FileBrowser,
  IDefaultFileBrowser,
  IFileBrowserFactory,
  Uploader
} from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { Contents, ServiceManager } from '@jupyterlab/services';
import { newFolderIcon, refreshIcon, ToolbarButton } from '@jupyterlab/ui-components';
import { Slot } from '@lumino/signaling';

import { askPortal } from '../base/api';
import { Form, IField, Values } from '../base/form';
import { withGuide } from '../base/guide';
import { bucketIcon } from '../base/icon';
import { PALETTE_CATEGORY, TOOLS } from '../lab/palette';
import { GoneError, partBytes, S3, S3Drive } from './drive';
import { Upload } from '../files/upload';

export const OPEN_S3 = 'data-scientist-portal:open-s3';
// Each look at a folder is a question to the store.
const NEVER_MS = 24 * 3600 * 1000;

interface IKeys {
  readonly source: 'entered' | 'file' | 'none';
  readonly problem: string;
  readonly endpoint: string;
}

interface IFollower {
  readonly onFileChanged: Slot<Contents.IManager, Contents.IChangedArgs>;
}

const FIELDS: ReadonlyArray<IField> = [
  { key: 'access_key_id', label: 'Access key', isRequired: true },
  { key: 'secret_access_key', label: 'Secret key', kind: 'secret', isRequired: true },
  {
    key: 'session_token',
    label: 'Session token',
    kind: 'secret',
    hint: 'Only for temporary keys'
  }
];

/** Ask for keys until S3 accepts some; false if the user gives up. */
async function enterKeys(services: ServiceManager.IManager, problem: string): Promise<boolean> {
  let values: Values = {};
  for (;;) {
    const body = new Form(FIELDS, values, problem);
    const note = document.createElement('p');
    note.textContent =
      'They are kept in the memory of this session only, and forgotten at its end. Cells read ' +
      '~/.aws/credentials: keys in that file also work in this panel.';
    note.style.maxWidth = '34em';
    body.node.append(note);
    const buttons = [Dialog.cancelButton(), Dialog.okButton({ label: 'Use' })];
    const title = 'Your keys for S3';
    const dialog = new Dialog<Values>({ title, body: withGuide(body, 'keys'), buttons });
    const { button, value } = await dialog.launch();
    if (!button.accept || value === null) {
      return false;
    }
    try {
      await askPortal(services.serverSettings, 's3/keys', 'PUT', value);
      return true;
    } catch (error) {
      problem = (error as Error).message;
      values = { access_key_id: value.access_key_id ?? '' };
    }
  }
}

/** The file browser of the drive, with the buttons that belong to it. */
function makeBrowser(
  services: ServiceManager.IManager,
  factory: IFileBrowserFactory,
  changeKeys: () => void
): FileBrowser {
  const browser = factory.createFileBrowser('data-scientist-portal-s3', {
    driveName: S3,
    auto: false,
    restore: false,
    state: null,
    refreshInterval: NEVER_MS
  });
  browser.title.icon = bucketIcon;
  browser.title.caption = 'S3: buckets of the S3 store';
  browser.node.setAttribute('role', 'region');
  browser.node.setAttribute('aria-label', 'S3');
  const { model } = browser;
  // JupyterLab takes a change at the top of the home for one of this list, and asks S3 again.
  const { onFileChanged } = model as unknown as IFollower;
  services.contents.fileChanged.disconnect(onFileChanged, model);
  services.contents.fileChanged.connect((_, change) => {
    if ((change.newValue ?? change.oldValue)?.path?.startsWith(`${S3}:`)) {
      onFileChanged.call(model, services.contents, change);
    }
  });
  model.upload = async (file: File, path?: string) => {
    const place = PathExt.join(path ?? model.path, file.name);
    const upload = new Upload(services, file, place, 's3/uploads', partBytes(file.size));
    const uploaded = await upload.run();
    // Nothing else looks: the list is not read again by itself.
    await model.refresh();
    return uploaded;
  };
  const newFolder = () => void browser.createNewDirectory();
  const refresh = () => void model.refresh().catch(error => showErrorMessage('S3', error as Error));
  const buttons: ReadonlyArray<[string, ToolbarButton]> = [
    [
      'folder',
      new ToolbarButton({ icon: newFolderIcon, tooltip: 'New Folder', onClick: newFolder })
    ],
    ['upload', new Uploader({ model })],
    ['refresh', new ToolbarButton({ icon: refreshIcon, tooltip: 'Refresh', onClick: refresh })],
    [
      'keys',
      new ToolbarButton({ label: 'Keys', tooltip: 'Enter keys for S3', onClick: changeKeys })
    ]
  ];
  buttons.forEach(([name, button]) => browser.toolbar.addItem(name, button));
  return browser;
}

/** The site's S3 store as a drive: a file browser of its own, a card of the launcher. */
export const s3Plugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:s3',
  description: "Shows the site's S3 store in a file browser.",
  autoStart: true,
  requires: [IFileBrowserFactory, IDefaultFileBrowser],
  optional: [ILauncher, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    factory: IFileBrowserFactory,
    files: IDefaultFileBrowser,
    launcher: ILauncher | null,
    palette: ICommandPalette | null
  ) => {
    if (!PageConfig.getOption('portalS3')) {
      return;
    }
    const services = app.serviceManager;
    const tellCut = (path: string) =>
      Notification.info(
        `${path} has more than 10,000 entries, and only 10,000 are shown. To see all, list it in a cell.`
      );
    services.contents.addDrive(new S3Drive(services.serverSettings, tellCut));
    const load = async () => {
      // From a folder that these keys may not open, too.
      await browser.model.cd('/').catch(error => showErrorMessage('S3', error as Error));
      await browser.model.refresh().catch(() => undefined);
    };
    const changeKeys = () =>
      void enterKeys(services, '').then(isEntered => (isEntered ? load() : undefined));
    const browser = makeBrowser(services, factory, changeKeys);
    app.shell.add(browser, 'left', { rank: 102, type: 'File Browser' });
    // The newest file browser is JupyterLab's current one: new notebooks would be made in S3.
    const { _pool: pool } = factory.tracker as unknown as { _pool: { current: FileBrowser } };
    setTimeout(() => (pool.current = files));
    let isOpened = false;
    browser.model.connectionFailure.connect((_, error) => {
      if (!browser.isVisible) {
        return;
      }
      void showErrorMessage('S3', error);
      if (error instanceof GoneError && !error.isTop) {
        void browser.model.cd('/');
      }
    });
    let opening: Promise<void> | null = null;
    const open = async () => {
      const { source, problem } = await askPortal<IKeys>(services.serverSettings, 's3/keys');
      if (source !== 'none' || (await enterKeys(services, problem))) {
        isOpened = true;
        await load();
      }
    };
    const show = () => {
      if (!isOpened) {
        // One dialog, however often it is asked for.
        opening ??= open()
          .catch(error => showErrorMessage('S3', error as Error))
          .finally(() => (opening = null));
      }
    };
    const shown = browser.processMessage.bind(browser);
    browser.processMessage = message => {
      shown(message);
      if (message.type === 'after-show') {
        show();
      }
    };
    app.commands.addCommand(OPEN_S3, {
      label: 'S3',
      caption: 'Show the buckets of the S3 store in the sidebar',
      icon: bucketIcon,
      execute: () => {
        app.shell.activateById(browser.id);
        show();
      }
    });
    launcher?.add({ command: OPEN_S3, ...TOOLS, rank: 100 });
    palette?.addItem({ command: OPEN_S3, category: PALETTE_CATEGORY });
  }
};
