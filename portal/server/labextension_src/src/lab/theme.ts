import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IThemeManager } from '@jupyterlab/apputils';

import { addStyle } from '../base/style';

/** Where pages of the session on the same host, such as MLflow's, read whether to be dark. */
const DARK = 'data-scientist-portal:dark';

/** The colours of the hub's pages, see portal/hub/static/portal.css, in place of Jupyter's blue. */
const STYLE = `
:root:has(body[data-jp-theme-light='true']) {
  --jp-brand-color0: #155a72;
  --jp-brand-color1: #1b6f8c;
  --jp-brand-color2: #7fb9cd;
  --jp-brand-color3: #d3e8f0;
  --jp-brand-color4: #e6f1f5;
  --jp-content-link-color: #155a72;
  --jp-accept-color-normal: #1b6f8c;
  --jp-accept-color-hover: #155a72;
  --jp-accept-color-active: #7fb9cd;
}
:root:has(body[data-jp-theme-light='false']) {
  --jp-brand-color0: #8fd3ea;
  --jp-brand-color1: #4aa3c2;
  --jp-brand-color2: #2f7f9b;
  --jp-brand-color3: #1b566b;
  --jp-brand-color4: #17303b;
  --jp-content-link-color: #8fd3ea;
  --jp-accept-color-normal: #2f7f9b;
  --jp-accept-color-hover: #1b566b;
  --jp-accept-color-active: #4aa3c2;
}
`;

/** Gives Jupyter the portal's accent, and tells other pages whether it is dark. */
export const themePlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:theme',
  description: 'Gives Jupyter the accent of the portal, and tells other pages whether it is dark.',
  autoStart: true,
  requires: [IThemeManager],
  activate: (_: JupyterFrontEnd, themes: IThemeManager) => {
    addStyle('data-scientist-portal-theme', STYLE);
    const tell = () => {
      if (themes.theme !== null) {
        localStorage.setItem(DARK, String(!themes.isLight(themes.theme)));
      }
    };
    themes.themeChanged.connect(tell);
    tell();
  }
};
