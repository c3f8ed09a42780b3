import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { LabIcon, launcherIcon } from '@jupyterlab/ui-components';

import { askPortal } from '../base/api';
import { addToNewMenu } from '../base/newitem';
import { TOOLS } from '../lab/palette';

const GIT_CLONE = 'git:clone';
const CLONE = 'data-scientist-portal:clone';
const OPEN_TOOL = 'data-scientist-portal:open-tool';

interface ITool {
  readonly title: string;
  readonly url: string;
}

/** The web tools of the site: cards of the launcher, items of Notebook's New menu. */
export const toolsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:tools',
  description: 'Opens the web tools of the site in a tab of their own.',
  autoStart: true,
  optional: [ILauncher, IDefaultFileBrowser, IToolbarWidgetRegistry, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    launcher: ILauncher | null,
    browser: IDefaultFileBrowser | null,
    toolbars: IToolbarWidgetRegistry | null,
    palette: ICommandPalette | null
  ) => {
    app.commands.addCommand(OPEN_TOOL, {
      label: args => String(args.title ?? ''),
      caption: args => `Open ${String(args.title ?? '')} in a tab of its own`,
      icon: launcherIcon,
      execute: args => void window.open(String(args.url), '_blank')
    });
    void app.restored.then(() => {
      // Only where the site has the Git panel.
      if (app.commands.hasCommand(GIT_CLONE)) {
        app.commands.addCommand(CLONE, {
          label: 'Clone a Git Repository',
          icon: LabIcon.resolve({ icon: 'git' }),
          execute: () => app.commands.execute(GIT_CLONE)
        });
        launcher?.add({ command: CLONE, ...TOOLS, rank: 8 });
      }
    });
    void askPortal<ReadonlyArray<ITool>>(app.serviceManager.serverSettings, 'tools').then(
      tools =>
        tools.forEach(({ title, url }) => {
          const item = { command: OPEN_TOOL, args: { title, url } };
          launcher?.add({ ...item, ...TOOLS, rank: 7 });
          palette?.addItem({ ...item, category: 'Web tools' });
          if (browser && toolbars) {
            addToNewMenu(app, browser, toolbars, item);
          }
        }),
      error => console.warn('The web tools cannot be listed', error)
    );
  }
};
