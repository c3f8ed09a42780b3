import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { Widget } from '@lumino/widgets';

import { fetchPortal } from '../base/api';
import { jobsIcon } from '../base/icon';

interface IMounted {
  /** Ask whether to submit a script. */
  preview(script: string): Promise<void>;
  end(): void;
}

/** What JupyterLab opens beside the panel. */
export interface IOpen {
  file(path: string): void;
  /** The form of a notebook with the values of one of its runs; missing without that form. */
  notebook?(run: string): void;
}

interface IPageModule {
  mount(root: Element, baseUrl: string, script: string | null, open: IOpen): IMounted;
}

/** The user's jobs and runs in the sidebar; its parts, style and script are the page's. */
export class JobsPanel extends Widget {
  private mounted: Promise<IMounted> | null = null;

  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly open: () => IOpen
  ) {
    super();
    this.id = 'data-scientist-portal-jobs';
    this.title.icon = jobsIcon;
    this.title.caption = 'Jobs and runs: what you have submitted, and the trainings of run()';
  }

  /** Ask whether to submit a script. */
  async preview(script: string): Promise<void> {
    await (await this.load())?.preview(script);
  }

  dispose(): void {
    void this.mounted?.then(mounted => mounted.end());
    super.dispose();
  }

  protected onAfterShow(): void {
    void this.load();
  }

  private async load(): Promise<IMounted | null> {
    this.mounted ??= this.mount();
    try {
      return await this.mounted;
    } catch (error) {
      // The next time the panel is shown it is tried again.
      this.mounted = null;
      this.node.textContent = (error as Error).message;
      return null;
    }
  }

  private async mount(): Promise<IMounted> {
    const { baseUrl } = this.settings;
    const response = await fetchPortal(this.settings, 'portal/jobs');
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const root = page.querySelector('.dsp-page')!;
    const styles = ['page', 'jobs'].map(name => {
      const style = document.createElement('link');
      style.rel = 'stylesheet';
      style.href = URLExt.join(baseUrl, `static/portal/${name}.css`);
      return style;
    });
    const program = (await import(
      /* webpackIgnore: true */ URLExt.join(baseUrl, 'static/portal/jobs.js')
    )) as IPageModule;
    this.node.replaceChildren(...styles, root);
    return program.mount(root, baseUrl, null, this.open());
  }
}
