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
