import { brandPlugin } from './lab/brand';
import { cellExecutorPlugin } from './kernels/cellexecutor';
import { endWarningPlugin } from './session/endwarning';
import { controlPanelPlugin } from './lab/controlpanel';
import { deadKernelsPlugin } from './kernels/deadkernels';
import { disconnectedPlugin } from './session/disconnected';
import { environmentsPlugin } from './environments/environments';
import { executionsPlugin } from './kernels/executions';
import { heldGpusPlugin } from './kernel_jobs/running';
import { helpPlugin } from './lab/help';
import { idlePlugin } from './session/idle';
import { jobsPlugin } from './jobs/jobs';
import { kernelGpusPlugin } from './kernel_jobs/gpus';
import { launcherSearchPlugin } from './lab/launchersearch';
import { longNoticesPlugin } from './lab/longnotices';
import { meterPlugin } from './session/meter';
import { missingKernelPlugin } from './kernels/missingkernel';
import { mlflowPlugin } from './viewers/mlflow';
import { narrowPlugin } from './lab/narrow';
import { newMenuPlugin } from './lab/newmenu';
import { notebookJobsPlugin } from './notebook_jobs/notebookjobs';
import { noticesPlugin } from './session/notices';
import { opensPlugin } from './lab/opens';
import { previewPlugin } from './files/preview';
import { resavePlugin } from './files/resave';
import { runningPlugin } from './viewers/running';
import { s3Plugin } from './s3/s3';
import { sessionPlugin } from './session/session';
import { sharePlugin } from './sharing/share';
import { templatesPlugin } from './templates/templates';
import { storagePlugin } from './storage/storage';
import { tensorBoardPlugin } from './viewers/tensorboard';
import { themePlugin } from './lab/theme';
import { toolsPlugin } from './web_tools/tools';
import { archivePlugin } from './files/archive';
import { unchangedPlugin } from './files/unchanged';
import { unfinishedPlugin } from './session/unfinished';
import { uploadPlugin } from './files/upload';

export default [
  tensorBoardPlugin,
  mlflowPlugin,
  narrowPlugin,
  newMenuPlugin,
  opensPlugin,
  runningPlugin,
  brandPlugin,
  controlPanelPlugin,
  helpPlugin,
  environmentsPlugin,
  executionsPlugin,
  missingKernelPlugin,
  jobsPlugin,
  notebookJobsPlugin,
  kernelGpusPlugin,
  heldGpusPlugin,
  templatesPlugin,
  launcherSearchPlugin,
  unchangedPlugin,
  toolsPlugin,
  sessionPlugin,
  endWarningPlugin,
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
