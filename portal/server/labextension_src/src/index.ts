import { controlPanelPlugin } from './controlpanel';
import { environmentsPlugin } from './environments';
import { jobsPlugin } from './jobs';
import { newMenuPlugin } from './newmenu';
import { runningPlugin } from './running';
import { templatesPlugin } from './templates';
import { tensorBoardPlugin } from './tensorboard';
import { toolsPlugin } from './tools';

export default [
  tensorBoardPlugin,
  newMenuPlugin,
  runningPlugin,
  controlPanelPlugin,
  environmentsPlugin,
  jobsPlugin,
  templatesPlugin,
  toolsPlugin
];
