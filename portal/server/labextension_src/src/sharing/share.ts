import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';

import { hubUrl } from '../base/hub';
import { PALETTE_CATEGORY } from '../lab/palette';

const SHARE = 'data-scientist-portal:share';

/** The button of a notebook that opens the hub's page: who has access, and whom to let in. */
export const sharePlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:share',
  description: 'Adds a Share button to notebooks, where the site lets users share sessions.',
  autoStart: true,
  requires: [IDocumentManager],
  optional: [ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    documents: IDocumentManager,
    palette: ICommandPalette | null
  ) => {
    const { user, contents } = app.serviceManager;
    const owner = PageConfig.getOption('hubUser');
    const session = [owner, PageConfig.getOption('hubServerName')].filter(Boolean);
    const page = URLExt.join('portal/sharing', ...session.map(encodeURIComponent));
    const url = PageConfig.getOption('portalShares') === 'true' ? hubUrl(page) : null;
    // Nobody shares in somebody else's name, so guests have no button.
    const isOffered = () => url !== null && user.identity?.username === owner;
    app.commands.addCommand(SHARE, {
      label: args => (args.toolbar ? 'Share' : 'Share…'),
      caption: 'Who else may read this notebook, or work in this session',
      isVisible: isOffered,
      isEnabled: isOffered,
      execute: () => {
        const widget = app.shell.currentWidget;
        const context = widget ? documents.contextForWidget(widget) : undefined;
        const path = context ? contents.localPath(context.path) : '';
        const query = path.endsWith('.ipynb') ? URLExt.objectToQueryString({ document: path }) : '';
        window.open(`${url}${query}`, '_blank');
      }
    });
    void user.ready.then(() => app.commands.notifyCommandChanged(SHARE));
    if (url !== null) {
      palette?.addItem({ command: SHARE, category: PALETTE_CATEGORY });
    }
  }
};
