import { PageConfig } from '@jupyterlab/coreutils';
import { Contents } from '@jupyterlab/services';

import { mlflowIcon } from '../base/icon';
import { viewerPlugin } from './plugin';

export const OPEN_MLFLOW = 'data-scientist-portal:open-mlflow';

/** Where kernels log to, unless somebody says otherwise. */
const OWN_FOLDER = 'mlruns';

/** Whether this node has MLflow. */
export function hasMlflow(): boolean {
  return PageConfig.getOption('portalMlflow') !== '';
}

/** The command "Open MLflow", its button, context menu item and launcher card. */
export const mlflowPlugin = viewerPlugin({
  id: 'data-scientist-portal:mlflow',
  description: 'Opens the selected folder of runs in MLflow, in a tab of its own.',
  command: OPEN_MLFLOW,
  viewer: 'mlflow',
  title: 'MLflow',
  icon: mlflowIcon,
  caption: 'Open the selected folder, or the one shown, in MLflow',
  question: 'Choose the folder that runs were logged to',
  mostFolders: 1,
  rank: 3,
  isThere: hasMlflow,
  startFolder
});

/** The folder that kernels log to, if it is there. */
async function startFolder(contents: Contents.IManager): Promise<string | null> {
  try {
    return (await contents.get(OWN_FOLDER, { content: false })).path;
  } catch {
    return null;
  }
}
