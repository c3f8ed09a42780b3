import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import {
  Dialog,
  ISessionContext,
  ISessionContextDialogs,
  Notification,
  showDialog
} from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { KernelSpec } from '@jupyterlab/services';
import { Widget } from '@lumino/widgets';

import { withGuide } from '../base/guide';
import { IEnvironmentMaker } from '../environments/environments';
import { fitting, IKernelName, shortName } from './fit';

/** No kernel has this name. */
const MAKE = '';

/** Says which kernel a notebook asks for that is not here, and offers those that fit. */
export const missingKernelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:missing-kernel',
  description: 'Offers other kernels for a notebook whose kernel is not here.',
  autoStart: true,
  requires: [ISessionContextDialogs, IEnvironmentMaker],
  optional: [IDocumentManager],
  activate: (
    _: JupyterFrontEnd,
    dialogs: ISessionContext.IDialogs,
    environments: IEnvironmentMaker,
    documents: IDocumentManager | null
  ) => {
    const selectAny = dialogs.selectKernel.bind(dialogs);
    // JupyterLab has no other place for this: it asks with this one object.
    dialogs.selectKernel = async (context: ISessionContext) => {
      const wanted = missingOf(context, documents);
      const specs = context.specsManager.specs?.kernelspecs ?? {};
      if (wanted === null || context.isDisposed) {
        return selectAny(context);
      }
      const kernels = Object.values(specs).filter(spec => spec !== undefined);
      const chosen = await choose(wanted, kernels);
      if (chosen === null || context.isDisposed) {
        return;
      }
      const like = fitting(wanted, kernels).fits[0]?.name ?? '';
      const kernel =
        chosen === MAKE ? await environments.make({ name: shortName(wanted.name), like }) : chosen;
      // Meanwhile the user may have chosen another one.
      if (kernel && !context.isDisposed && (chosen !== MAKE || context.hasNoKernel)) {
        await context.changeKernel({ name: kernel }).catch(error => {
          Notification.error((error as Error).message, { autoClose: false });
        });
      }
    };
  }
};

/** The kernel that a document asks for, if that is not here. */
function missingOf(
  { kernelPreference, path, specsManager, session }: ISessionContext,
  documents: IDocumentManager | null
): IKernelName | null {
  const { name, language } = kernelPreference;
  const specs = specsManager.specs?.kernelspecs;
  if (!name || !specs || specs[name] !== undefined || session?.kernel) {
    return null;
  }
  const model = documents?.findWidget(path)?.context.model as
    { getMetadata?: (key: string) => Partial<KernelSpec.ISpecModel> | undefined } | undefined;
  const spec = model?.getMetadata?.('kernelspec');
  // A notebook that has never run has its language only there.
  return {
    name,
    display_name: spec?.display_name ?? name,
    language: language || (spec?.language ?? '')
  };
}

class Kernels extends Widget {
  constructor(wanted: IKernelName, kernels: ReadonlyArray<KernelSpec.ISpecModel>) {
    super();
    const { fits, others } = fitting(wanted, kernels);
    const text = document.createElement('p');
    text.textContent = `This notebook needs the kernel “${wanted.display_name}”, which this session does not have.`;
    const group = document.createElement('fieldset');
    Object.assign(group.style, { border: '0', padding: '8px 0', maxHeight: '50vh' });
    group.style.overflow = 'auto';
    const add = (heading: string, rows: ReadonlyArray<readonly [string, string]>) => {
      if (rows.length > 0) {
        const title = document.createElement('b');
        title.textContent = heading;
        group.append(title, ...rows.map(([value, label]) => choice(value, label)));
      }
    };
    const named = (list: ReadonlyArray<KernelSpec.ISpecModel>) =>
      list.map(({ name, display_name }) => [name, display_name] as const);
    add('These fit', named(fits));
    add(fits.length > 0 ? 'Others' : 'None fits. Available kernels', named(others));
    add('Or', [[MAKE, 'Make an environment for it…']]);
    group.querySelector('input')!.checked = true;
    this.node.append(text, group);
    withGuide(this, 'missingKernel');
  }

  getValue(): string {
    return this.node.querySelector<HTMLInputElement>('input:checked')!.value;
  }
}

function choice(value: string, text: string): HTMLElement {
  const label = document.createElement('label');
  const input = document.createElement('input');
  input.type = 'radio';
  input.name = 'dsp-kernel';
  input.value = value;
  Object.assign(label.style, { display: 'block', margin: '4px 8px' });
  // Dialogs draw each input as a box for text.
  Object.assign(input.style, { appearance: 'auto', width: 'auto', height: 'auto' });
  input.style.accentColor = 'var(--jp-brand-color1)';
  label.append(input, ' ', text);
  return label;
}

/** A kernel's name, `MAKE`, or null for no kernel. */
async function choose(
  wanted: IKernelName,
  kernels: ReadonlyArray<KernelSpec.ISpecModel>
): Promise<string | null> {
  const { button, value } = await showDialog({
    title: 'Choose another kernel',
    body: new Kernels(wanted, kernels),
    buttons: [Dialog.cancelButton({ label: 'No kernel' }), Dialog.okButton({ label: 'Continue' })]
  });
  return button.accept ? value : null;
}
