import { Dialog } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { Widget } from '@lumino/widgets';

/** The place in the guide, page and anchor, of each dialog and panel. */
const PLACES = {
  environment: 'environments#make-an-environment-of-your-own',
  image: 'environments#use-other-environments',
  kernelGpus: 'gpus-for-a-kernel',
  keys: 's3',
  missingKernel: 'environments#open-a-notebook-whose-kernel-is-missing',
  mlflow: 'mlflow',
  notebookJobs: 'notebook-jobs',
  sessionEnd: 'time-limits',
  sessionGone: 'troubleshooting',
  templates: 'templates',
  tensorboards: 'tensorboard'
};

type Topic = keyof typeof PLACES;

/** The address of the guide, or of a page of it, or null where the hub has none. */
export function guideUrl(page = ''): string | null {
  const url = PageConfig.getOption('portalGuides');
  return url ? url + page : null;
}

/** Put a link to the guide below the content of a dialog or panel, if there is a guide. */
export function withGuide<T extends Widget>(widget: T, topic: Topic): T {
  const url = guideUrl(PLACES[topic]);
  if (url !== null) {
    const link = document.createElement('a');
    Object.assign(link, { href: url, target: '_blank', rel: 'noopener' });
    link.textContent = 'See the guide';
    link.style.color = 'var(--jp-content-link-color)';
    const line = document.createElement('p');
    line.style.margin = '8px 0';
    line.append(link);
    widget.node.append(line);
  }
  return widget;
}

/** The text of a dialog, with a link to the guide. */
export function textWithGuide(text: string, topic: Topic): Widget {
  const body = new Widget();
  body.node.textContent = text;
  return withGuide(body, topic);
}

/** For dialogs whose content JupyterLab makes. */
export class GuideRenderer extends Dialog.Renderer {
  constructor(private readonly topic: Topic) {
    super();
  }

  createBody(value: Dialog.Body<unknown>): Widget {
    return withGuide(super.createBody(value), this.topic);
  }
}
