import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IThemeManager } from '@jupyterlab/apputils';

/** Where pages of the session on the same host, such as MLflow's, read whether to be dark. */
const DARK = 'data-scientist-portal:dark';

/** Tells other pages of the session whether JupyterLab is dark. */
export const themePlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:theme',
  description: 'Tells other pages of the session whether JupyterLab is dark.',
  autoStart: true,
  requires: [IThemeManager],
  activate: (_: JupyterFrontEnd, themes: IThemeManager) => {
    const tell = () => {
      if (themes.theme !== null) {
        localStorage.setItem(DARK, String(!themes.isLight(themes.theme)));
      }
    };
    themes.themeChanged.connect(tell);
    tell();
  }
};
