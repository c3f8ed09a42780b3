import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, Notification, showDialog } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { KernelSpec } from '@jupyterlab/services';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { askPortal } from '../base/api';
import { textWithGuide } from '../base/guide';
import { frameworkIcon, LACKING, templateIcon } from '../base/icon';
import { PALETTE_CATEGORY } from '../lab/palette';
import { addStyle } from '../base/style';

const OPEN_TEMPLATE = 'data-scientist-portal:open-template';
const RESTORE_TEMPLATE = 'data-scientist-portal:restore-template';
const FOLDER = 'templates/';
/** Each goal of the templates is a section of the launcher, whose name begins with this. */
const CATEGORY = 'Templates';
/** After JupyterLab's notebooks, which are 0, and before its consoles, 20. */
const CATEGORY_RANK = 10;
/** Keeps the sections in the order of the goals, however many there are. */
const RANK_STEP = 0.001;
/** Without a card where no kernel runs their templates: nobody starts with them today. */
const RETIRED = ['MXNet'];

const STYLE = `
.jp-LauncherCard[data-category^='${CATEGORY}'] {
  flex-direction: row;
  align-items: center;
  width: 19em;
  min-height: 4.2em;
}
.jp-LauncherCard[data-category^='${CATEGORY}'] .jp-LauncherCard-icon {
  flex: none;
  width: 4.2em;
  height: 4.2em;
}
.jp-LauncherCard[data-category^='${CATEGORY}'] .jp-LauncherCard-icon svg {
  width: 2.4em;
  height: 2.4em;
}
.jp-LauncherCard[data-category^='${CATEGORY}'] .jp-LauncherCard-label {
  padding: 6px 8px 6px 0;
}
.jp-LauncherCard[data-category^='${CATEGORY}'] .jp-LauncherCard-label p {
  line-height: 1.3;
  margin: 0;
  text-align: left;
}
.jp-LauncherCard:has([data-icon$='${LACKING}']) {
  box-shadow: none;
  filter: grayscale(1);
}
.jp-LauncherCard:has([data-icon$='${LACKING}']) > * {
  opacity: 0.7;
}
`;

interface ITemplate {
  /** Path below the templates folder. */
  readonly name: string;
  /** Path from the root of the file browser. */
  readonly path: string;
  readonly title: string;
  readonly framework: string;
  /** What a user wants who opens it. */
  readonly goal: string;
  /** Date of the last run by the tests, or "". */
  readonly tested: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Kernel that the template names, or "". */
  readonly written_for: string;
  /** Kernel that runs it here, or "". */
  readonly kernel: string;
  /** What to do where none runs it, or "". */
  readonly advice: string;
}

interface ICopy {
  /** Path from the root of the file browser. */
  readonly path: string;
  /** A new release that was saved beside an edited copy, or "". */
  readonly beside: string;
}

interface IListing {
  readonly templates: ReadonlyArray<ITemplate>;
  /** New releases beside templates that the user edited. */
  readonly beside: ReadonlyArray<string>;
  readonly problems: ReadonlyArray<string>;
}

/** The templates as cards of the launcher, and "Restore Template" in the context menu. */
export const templatesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:templates',
  description: 'Shows the template notebooks in the launcher and restores them.',
  autoStart: true,
  optional: [
    IFileBrowserFactory,
    IDefaultFileBrowser,
    ILauncher,
    IDocumentManager,
    ICommandPalette
  ],
  activate: (
    app: JupyterFrontEnd,
    factory: IFileBrowserFactory | null,
    defaultBrowser: IDefaultFileBrowser | null,
    launcher: ILauncher | null,
    documents: IDocumentManager | null,
    palette: ICommandPalette | null
  ) => {
    const { commands, serviceManager } = app;
    const settings = serviceManager.serverSettings;
    const selected = () => {
      const items = [
        ...((factory?.tracker.currentWidget ?? defaultBrowser)?.selectedItems() ?? [])
      ];
      const path = items.length === 1 ? serviceManager.contents.localPath(items[0].path) : '';
      const isFile = items.length === 1 && items[0].type !== 'directory';
      return isFile && path.startsWith(FOLDER) ? path.slice(FOLDER.length) : null;
    };

    addStyle('data-scientist-portal-templates', STYLE);
    commands.addCommand(OPEN_TEMPLATE, {
      label: args => String(args.label ?? ''),
      caption: args => String(args.caption ?? ''),
      icon: args =>
        frameworkIcon(String(args.framework), String(args.writtenFor), Boolean(args.advice)),
      execute: async args => {
        if (args.advice) {
          Notification.warning(String(args.advice), { autoClose: false });
        }
        const { name, kernel } = args;
        let copy: ICopy;
        try {
          copy = await askPortal<ICopy>(settings, 'templates/copies', 'POST', { name, kernel });
        } catch (error) {
          Notification.error((error as Error).message, { autoClose: false });
          return;
        }
        if (copy.beside) {
          Notification.info(
            `You edited ${copy.path}, so it stays as it is. ${copy.beside} is its new release.`,
            { autoClose: false }
          );
        }
        await defaultBrowser?.model.refresh();
        if (documents && kernel && kernel !== args.writtenFor) {
          return openWith(documents, serviceManager.kernelspecs, { ...args, path: copy.path });
        }
        await commands.execute('docmanager:open', { path: copy.path });
      }
    });
    commands.addCommand(RESTORE_TEMPLATE, {
      label: 'Restore Template',
      caption: 'Put the original back; your edited version is kept next to it',
      icon: templateIcon,
      isVisible: () => selected() !== null,
      execute: async () => {
        const name = selected();
        if (name === null || !(await isSure(name))) {
          return;
        }
        try {
          const { kept } = await askPortal<{ kept: string }>(settings, 'templates', 'POST', {
            name
          });
          const also = kept ? ` Your edited version is now ${kept}.` : '';
          Notification.success(`${FOLDER}${name} has been restored.${also}`, {
            autoClose: 8000
          });
          await defaultBrowser?.model.refresh();
        } catch (error) {
          Notification.error((error as Error).message, { autoClose: false });
        }
      }
    });

    palette?.addItem({ command: RESTORE_TEMPLATE, category: PALETTE_CATEGORY });

    void askPortal<IListing>(settings, 'templates').then(
      ({ templates, beside, problems }) => {
        const goals = templates.map(({ goal }) => goal);
        templates.forEach((template, rank) => {
          const { name, title, goal, framework, kernel, advice } = template;
          const args = {
            name,
            label: title,
            caption: captionOf(template),
            framework,
            writtenFor: template.written_for,
            kernel,
            advice
          };
          const item = { command: OPEN_TEMPLATE, args, rank };
          if (kernel || !RETIRED.includes(framework)) {
            launcher?.add({
              ...item,
              category: goal ? `${CATEGORY}: ${goal}` : CATEGORY,
              categoryRank: CATEGORY_RANK + RANK_STEP * goals.indexOf(goal)
            });
          }
          palette?.addItem({ ...item, category: CATEGORY });
        });
        beside.forEach(path =>
          Notification.info(`${path} is the new release of a template that you edited.`, {
            autoClose: false
          })
        );
        problems.forEach(problem => Notification.warning(problem, { autoClose: false }));
      },
      error => console.warn('The templates cannot be listed', error)
    );
  }
};

/**
 * Open a template with another kernel than the one that it was written for.
 *
 * A notebook's own kernel goes before any that is asked for, and JupyterLab asks the user if that is
 * missing. So the notebook is opened without one, then gets it.
 */
async function openWith(
  documents: IDocumentManager,
  { specs }: KernelSpec.IManager,
  { path, writtenFor, kernel }: ReadonlyPartialJSONObject
): Promise<void> {
  const noKernel = { shouldStart: false };
  const widget = documents.openOrReveal(String(path), undefined, undefined, {}, noKernel);
  await widget?.context.ready;
  const sessionContext = widget?.context.sessionContext;
  if (!sessionContext || sessionContext.session?.kernel) {
    return;
  }
  const named = widget.context.model.defaultKernelName;
  // The user has chosen another one since, which is there.
  const isChosen = named !== writtenFor && specs?.kernelspecs[named] !== undefined;
  await sessionContext.changeKernel({ name: isChosen ? named : String(kernel) });
}

function captionOf(template: ITemplate): string {
  const versions = Object.entries(template.versions).map(([name, version]) => `${name} ${version}`);
  const tested = template.tested ? `Last tested on ${template.tested}` : 'Not tested by the portal';
  return [
    ...(template.advice ? [template.advice] : []),
    `Opens your copy of ${template.path}`,
    versions.length ? `${tested} with ${versions.join(', ')}` : tested
  ].join('\n');
}

async function isSure(name: string): Promise<boolean> {
  const { button } = await showDialog({
    title: 'Restore template?',
    body: textWithGuide(
      `The original replaces ${FOLDER}${name}. If you edited it, your version is kept next to it.`,
      'templates'
    ),
    buttons: [Dialog.cancelButton(), Dialog.okButton({ label: 'Restore' })]
  });
  return button.accept;
}
