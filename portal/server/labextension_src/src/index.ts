import { controlPanelPlugin } from './controlpanel';
import { newMenuPlugin } from './newmenu';
import { runningPlugin } from './running';
import { tensorBoardPlugin } from './tensorboard';

export default [tensorBoardPlugin, newMenuPlugin, runningPlugin, controlPanelPlugin];
