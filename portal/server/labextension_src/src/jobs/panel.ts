import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { Widget } from '@lumino/widgets';

import { fetchPortal } from '../base/api';
import { jobsIcon, runsIcon } from '../base/icon';

interface IPageModule {
  /** Returns a function that ends it. */
  mount(root: Element, baseUrl: string, script: string | null): () => void;
}

/** A page of the notebook server in JupyterLab; its parts, style and script are the page's. */
class PagePanel extends Widget {
  private end: (() => void) | null = null;

  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly name: 'jobs' | 'runs'
  ) {
    super();
    this.id = `data-scientist-portal-${name}`;
  }

  /** Show the page, and where a script is given ask whether to submit it. */
  async load(script: string | null): Promise<void> {
    const { baseUrl } = this.settings;
    let response: Response;
    try {
      response = await fetchPortal(this.settings, `portal/${this.name}`);
    } catch (error) {
      this.node.textContent = (error as Error).message;
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const root = page.querySelector('.dsp-page')!;
    const styles = ['page', this.name].map(name => {
      const style = document.createElement('link');
      style.rel = 'stylesheet';
      style.href = URLExt.join(baseUrl, `static/portal/${name}.css`);
      return style;
    });
    const program = (await import(
      /* webpackIgnore: true */ URLExt.join(baseUrl, `static/portal/${this.name}.js`)
    )) as IPageModule;
    this.end?.();
    this.node.replaceChildren(...styles, root);
    this.end = program.mount(root, baseUrl, script);
  }

  dispose(): void {
    this.end?.();
    this.end = null;
    super.dispose();
  }
}

/** The user's Slurm jobs as a tab. */
export class JobsPanel extends PagePanel {
  constructor(settings: ServerConnection.ISettings) {
    super(settings, 'jobs');
    this.title.label = 'Slurm Jobs';
    this.title.icon = jobsIcon;
    this.title.closable = true;
  }
}

/** The user's runs in the sidebar. */
export class RunsPanel extends PagePanel {
  private isLoaded = false;

  constructor(settings: ServerConnection.ISettings) {
    super(settings, 'runs');
    this.title.icon = runsIcon;
    this.title.caption = 'Runs: the trainings that run() has started';
  }

  protected onAfterShow(): void {
    if (!this.isLoaded) {
      this.isLoaded = true;
      void this.load(null);
    }
  }
}
