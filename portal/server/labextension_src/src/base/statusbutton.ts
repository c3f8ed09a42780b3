import { JupyterFrontEnd } from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { Widget } from '@lumino/widgets';

import { addStyle } from './style';

const STYLE = `
.dsp-status { align-self: center; white-space: nowrap; border: 0; background: none; padding: 0 8px;
  color: inherit; font: inherit; font-size: var(--jp-ui-font-size1); line-height: 24px;
  cursor: pointer; border-radius: 2px; }
.dsp-status:hover { background: var(--jp-layout-color2); }
.dsp-status:focus-visible { outline: 2px solid var(--jp-brand-color1); }
.dsp-status[data-tone='warn'] { background: var(--jp-warn-color0, #b26a00); color: #fff; }
.dsp-panel { padding: 12px; overflow-y: auto; color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1); font-size: var(--jp-ui-font-size1); }
.dsp-panel h2 { font-size: var(--jp-ui-font-size2); margin: 0 0 8px; }
.dsp-panel figure { margin: 0 0 14px; }
.dsp-panel figcaption { display: flex; justify-content: space-between; gap: 8px; }
.dsp-panel figcaption b { font-weight: 600; white-space: nowrap; }
.dsp-panel svg { display: block; width: 100%; height: 44px; margin-top: 3px;
  background: var(--jp-layout-color2); color: var(--jp-brand-color1); }
.dsp-panel p { margin: 0 0 12px; }
.dsp-panel .dsp-advice { padding: 8px; border-left: 3px solid var(--jp-warn-color1);
  background: var(--jp-layout-color2); }
.dsp-panel .dsp-link { border: 0; padding: 0; margin: 0 0 12px; background: none; cursor: pointer;
  color: var(--jp-content-link-color); font: inherit; text-decoration: underline; }
.dsp-panel .dsp-cells svg { height: 12px; }
.dsp-panel .dsp-cells figcaption b { overflow: hidden; text-overflow: ellipsis; font-weight: 400; }
.dsp-panel .dsp-cells figcaption span { white-space: nowrap; }
.dsp-processes { width: 100%; font-size: var(--jp-ui-font-size0); margin-top: 14px; border-collapse: collapse; }
.dsp-processes th { font-weight: 400; color: var(--jp-ui-font-color2); }
.dsp-processes th, .dsp-processes td { padding: 2px 0 2px 8px; text-align: right; white-space: nowrap; }
.dsp-processes :is(th, td):first-child { padding-left: 0; text-align: left; max-width: 90px;
  overflow: hidden; text-overflow: ellipsis; }
.dsp-panel .dsp-axis { display: flex; justify-content: space-between;
  color: var(--jp-ui-font-color2); font-size: var(--jp-ui-font-size0); }
`;

/** A button that shows a line of text all the time. */
export class StatusButton extends Widget {
  constructor(id: string, title: string, onClick: () => void) {
    const node = document.createElement('button');
    node.className = 'dsp-status';
    node.type = 'button';
    node.title = title;
    node.addEventListener('click', onClick);
    super({ node });
    this.id = id;
    this.hide();
  }

  showText(text: string, tone: 'plain' | 'warn' = 'plain'): void {
    this.show();
    if (this.node.textContent !== text) {
      this.node.textContent = text;
    }
    this.node.dataset.tone = tone;
  }
}

/** Put a button into the status bar, or at the top where there is none, as in Notebook. */
export function addStatusButton(
  app: JupyterFrontEnd,
  statusBar: IStatusBar | null,
  button: StatusButton,
  rank: number
): void {
  addStyle('data-scientist-portal-style', STYLE);
  if (statusBar) {
    statusBar.registerStatusItem(button.id, { item: button, align: 'right', rank });
  } else {
    app.shell.add(button, 'top', { rank: 9_000 - rank });
  }
}
