import { ILabShell, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStateDB } from '@jupyterlab/statedb';

import { addStyle } from '../base/style';

const NARROW = '(max-width: 600px)';
/** In the workspace: a phone has opened it last. */
const KEY = 'data-scientist-portal:narrow';

const STYLE = `
@media ${NARROW} {
  #jp-menu-panel { flex: 1 1 0; min-width: 0; overflow-x: auto; scrollbar-width: none; }
  #jp-top-bar, #jp-title-panel-title { display: none; }
  #jp-main-statusbar .jp-StatusBar-Item:not(.dsp-status, .jp-Notification-Status),
  #jp-main-statusbar .jp-StatusBar-Middle { display: none; }
  #jp-main-statusbar .jp-StatusBar-Right { flex: 1; min-width: 0; }
  #data-scientist-portal-meter { min-width: 0; overflow: hidden; text-overflow: ellipsis; }
  #jp-main-content-panel .jp-Launcher-body { padding: 0; }
  #jp-main-content-panel .jp-Launcher-content { padding: 8px; }
  #top-panel { overflow-x: auto; scrollbar-width: none; }
  #top-panel #jp-NotebookLogo, #top-panel #data-scientist-portal-meter { display: none; }
}
`;

/** Makes room on a narrow page, such as that of a phone: one document, and no list beside it. */
export const narrowPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:narrow',
  description: 'Starts narrow pages with one document and a closed sidebar.',
  autoStart: true,
  requires: [IStateDB],
  optional: [ILabShell],
  activate: (app: JupyterFrontEnd, state: IStateDB, shell: ILabShell | null) => {
    addStyle('data-scientist-portal-narrow', STYLE);
    if (shell) {
      void app.restored.then(() => arrange(shell, state));
    }
  }
};

async function arrange(shell: ILabShell, state: IStateDB): Promise<void> {
  const wasNarrow = await state.fetch(KEY);
  if (window.matchMedia(NARROW).matches) {
    shell.collapseLeft();
    shell.collapseRight();
    shell.mode = 'single-document';
    await state.save(KEY, true);
  } else if (wasNarrow) {
    // The workspace is that of all the user's machines.
    shell.mode = 'multiple-document';
    shell.expandLeft();
    await state.remove(KEY);
  }
}
