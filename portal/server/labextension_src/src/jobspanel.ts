import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { Widget } from '@lumino/widgets';

import { fetchPortal } from './api';
import { jobsIcon } from './icon';

interface IJobsModule {
  /** Returns a function that ends it. */
  mount(root: Element, baseUrl: string, script: string | null): () => void;
}

/** The page of the user's Slurm jobs as a tab of JupyterLab; its parts and script are the page's. */
export class JobsPanel extends Widget {
  private end: (() => void) | null = null;

  constructor(private readonly settings: ServerConnection.ISettings) {
    super();
    this.id = 'data-scientist-portal-jobs';
    this.title.label = 'Slurm Jobs';
    this.title.icon = jobsIcon;
    this.title.closable = true;
  }

  /** Show the jobs, and where a script is given ask whether to submit it. */
  async load(script: string | null): Promise<void> {
    const { baseUrl } = this.settings;
    let response: Response;
    try {
      response = await fetchPortal(this.settings, 'portal/jobs');
    } catch (error) {
      this.node.textContent = (error as Error).message;
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const root = page.querySelector('.dsp-jobs')!;
    const style = document.createElement('link');
    style.rel = 'stylesheet';
    style.href = URLExt.join(baseUrl, 'static/portal/jobs.css');
    const program = (await import(
      /* webpackIgnore: true */ URLExt.join(baseUrl, 'static/portal/jobs.js')
    )) as IJobsModule;
    this.end?.();
    this.node.replaceChildren(style, root);
    this.end = program.mount(root, baseUrl, script);
  }

  dispose(): void {
    this.end?.();
    this.end = null;
    super.dispose();
  }
}
