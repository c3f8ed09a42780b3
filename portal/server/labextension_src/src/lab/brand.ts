import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PageConfig } from '@jupyterlab/coreutils';
import { Widget } from '@lumino/widgets';

import { hubUrl } from '../base/hub';
import { portalIcon } from '../base/icon';
import { addStyle } from '../base/style';

const STYLE = `
#data-scientist-portal-brand {
  display: flex;
  align-items: center;
}
#data-scientist-portal-brand a {
  display: flex;
  align-items: center;
  gap: 6px;
  padding: 2px 8px;
  border-radius: 2px;
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
  white-space: nowrap;
}
#data-scientist-portal-brand a:hover {
  background: var(--jp-layout-color2);
}
@media (max-width: 1000px) {
  #data-scientist-portal-brand span {
    display: none;
  }
}
`;

/** The portal's name at the top left, in place of Jupyter's logo: leads home. */
export const brandPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:brand',
  description: "Shows the portal's name, which leads to the home page.",
  autoStart: true,
  activate: ({ shell }: JupyterFrontEnd) => {
    addStyle('data-scientist-portal-brand-style', STYLE);
    const name = PageConfig.getOption('portalName') || 'Data Scientist Portal';
    const home = hubUrl('home');
    const link = document.createElement('a');
    const words = document.createElement('span');
    words.textContent = name;
    link.append(portalIcon.element({ width: '18px', height: 'auto' }), words);
    link.title = `${name}: home page`;
    link.ariaLabel = link.title;
    if (home !== null) {
      Object.assign(link, { href: home, target: '_blank', rel: 'noopener' });
    }
    const widget = new Widget();
    widget.id = 'data-scientist-portal-brand';
    widget.node.append(link);
    shell.add(widget, 'top', { rank: 0 });
  }
};
