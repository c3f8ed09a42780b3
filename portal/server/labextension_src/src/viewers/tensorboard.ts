import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PageConfig } from '@jupyterlab/coreutils';

import { tensorBoardIcon } from '../base/icon';
import { viewerPlugin } from './plugin';

export const OPEN_TENSORBOARD = 'data-scientist-portal:open-tensorboard';

/** The command "Open TensorBoard", its button, context menu item and launcher card. */
export const tensorBoardPlugin = viewerPlugin({
  id: 'data-scientist-portal:tensorboard',
  description: 'Opens the selected folders in TensorBoard, in a tab of their own.',
  command: OPEN_TENSORBOARD,
  viewer: 'tensorboards',
  title: 'TensorBoard',
  icon: tensorBoardIcon,
  caption: 'Open the selected folders, or the one shown, in TensorBoard',
  question: 'Choose the folder with the logs',
  // The server says how many are too many.
  mostFolders: Infinity,
  rank: 2,
  isThere: () => true
});

/** Has the browser load TensorBoard's script, which all TensorBoards share, when it has time. */
export const tensorBoardScriptPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:tensorboard-script',
  description: 'Loads the script of TensorBoard before it is asked for.',
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    void app.restored.then(prefetchScript);
  }
};

function prefetchScript(): void {
  const path = PageConfig.getOption('tensorBoardScript');
  if (path !== '') {
    const link = document.createElement('link');
    link.rel = 'prefetch';
    link.as = 'script';
    link.href = path;
    document.head.append(link);
  }
}
