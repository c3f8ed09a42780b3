import { brandPlugin } from './brand';
import { cellExecutorPlugin } from './cellexecutor';
import { clockPlugin } from './clock';
import { controlPanelPlugin } from './controlpanel';
import { deadKernelsPlugin } from './deadkernels';
import { disconnectedPlugin } from './disconnected';
import { environmentsPlugin } from './environments';
import { executionsPlugin } from './executions';
import { helpPlugin } from './help';
import { idlePlugin } from './idle';
import { jobsPlugin } from './jobs';
import { launcherSearchPlugin } from './launchersearch';
import { longNoticesPlugin } from './longnotices';
import { meterPlugin } from './meter';
import { missingKernelPlugin } from './missingkernel';
import { mlflowPlugin } from './mlflow';
import { narrowPlugin } from './narrow';
import { newMenuPlugin } from './newmenu';
import { noticesPlugin } from './notices';
import { previewPlugin } from './preview';
import { resavePlugin } from './resave';
import { runningPlugin } from './running';
import { runsPlugin } from './runs';
import { s3Plugin } from './s3';
import { sessionPlugin } from './session';
import { sharePlugin } from './share';
import { templatesPlugin } from './templates';
import { storagePlugin } from './storage';
import { tensorBoardPlugin, tensorBoardScriptPlugin } from './tensorboard';
import { themePlugin } from './theme';
import { toolsPlugin } from './tools';
import { archivePlugin } from './archive';
import { unchangedPlugin } from './unchanged';
import { unfinishedPlugin } from './unfinished';
import { uploadPlugin } from './upload';

export default [
  tensorBoardPlugin,
  tensorBoardScriptPlugin,
  mlflowPlugin,
  narrowPlugin,
  newMenuPlugin,
  runningPlugin,
  brandPlugin,
  controlPanelPlugin,
  helpPlugin,
  environmentsPlugin,
  executionsPlugin,
  missingKernelPlugin,
  jobsPlugin,
  runsPlugin,
  templatesPlugin,
  launcherSearchPlugin,
  unchangedPlugin,
  toolsPlugin,
  sessionPlugin,
  clockPlugin,
  meterPlugin,
  idlePlugin,
  noticesPlugin,
  longNoticesPlugin,
  deadKernelsPlugin,
  disconnectedPlugin,
  cellExecutorPlugin,
  unfinishedPlugin,
  uploadPlugin,
  resavePlugin,
  archivePlugin,
  previewPlugin,
  s3Plugin,
  storagePlugin,
  sharePlugin,
  themePlugin
];
