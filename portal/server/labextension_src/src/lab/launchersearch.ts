import { ILabShell, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';

import { addStyle } from '../base/style';
import { hasWords } from '../base/words';

const STYLE = `
.dsp-LauncherSearch {
  box-sizing: border-box;
  min-height: 48px;
  padding: 10px 12px 4px;
  background: var(--jp-layout-color0);
  text-align: center;
}
.dsp-LauncherSearch input {
  box-sizing: border-box;
  width: min(32em, 100%);
  padding: 6px 10px;
  border: 1px solid var(--jp-border-color1);
  border-radius: 4px;
  background: var(--jp-layout-color0);
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size1);
}
.jp-LauncherCard[hidden], .jp-Launcher-section[hidden] {
  display: none;
}
`;

/** The field above a launcher that leaves only the cards with all words of a text. */
class LauncherSearch extends Widget {
  private readonly field = document.createElement('input');
  private readonly none = document.createElement('p');
  private readonly observer = new MutationObserver(() => this.filter());

  constructor(private readonly launcher: Widget) {
    super();
    this.addClass('dsp-LauncherSearch');
    Object.assign(this.field, {
      type: 'search',
      placeholder: 'Search notebooks, templates and tools',
      ariaLabel: 'Search the launcher'
    });
    this.none.role = 'status';
    this.none.hidden = true;
    this.node.append(this.field, this.none);
    this.field.addEventListener('input', () => this.filter());
    this.field.addEventListener('keydown', event => {
      // JupyterLab has shortcuts of single keys.
      event.stopPropagation();
      if (event.key === 'Enter' && this.field.value.trim()) {
        this.launcher.node.querySelector<HTMLElement>('.jp-LauncherCard:not([hidden])')?.click();
      }
    });
    // Cards come when the kernels, templates and tools are known.
    this.observer.observe(launcher.node, { childList: true, subtree: true });
  }

  dispose(): void {
    this.observer.disconnect();
    super.dispose();
  }

  private filter(): void {
    const text = this.field.value;
    let shown = 0;
    for (const section of this.launcher.node.querySelectorAll<HTMLElement>(
      '.jp-Launcher-section'
    )) {
      const cards = [...section.querySelectorAll<HTMLElement>('.jp-LauncherCard')];
      for (const card of cards) {
        const { category } = card.dataset;
        card.hidden = !hasWords(`${category} ${card.textContent} ${card.title}`, text);
      }
      section.hidden = cards.every(card => card.hidden);
      shown += cards.filter(card => !card.hidden).length;
    }
    this.none.hidden = shown > 0 || !text.trim();
    this.none.textContent = this.none.hidden
      ? ''
      : `No notebook, template or tool matches “${text.trim()}”.`;
    this.node.style.minHeight = this.none.hidden ? '' : '80px';
    this.parent?.fit();
  }
}

/** JupyterLab's launcher alone; Notebook has none. */
export const launcherSearchPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:launcher-search',
  description: 'Adds a search field to the launcher.',
  autoStart: true,
  requires: [ILabShell],
  activate: (_: JupyterFrontEnd, shell: ILabShell) => {
    addStyle('data-scientist-portal-launcher-search', STYLE);
    const equipped = new WeakSet<Widget>();
    const equip = () => {
      for (const widget of shell.widgets('main')) {
        const area = widget instanceof MainAreaWidget ? (widget as MainAreaWidget) : null;
        if (area?.content.hasClass('jp-Launcher') && !equipped.has(area)) {
          equipped.add(area);
          area.contentHeader.addWidget(new LauncherSearch(area.content));
        }
      }
    };
    shell.layoutModified.connect(equip);
    void shell.restored.then(equip);
  }
};
