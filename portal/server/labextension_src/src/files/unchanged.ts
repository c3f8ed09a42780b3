import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { JSONObject } from '@lumino/coreutils';

type Context = NonNullable<ReturnType<IDocumentManager['contextForWidget']>>;

/** Larger notebooks are not compared. */
const MOST_BYTES = 5_000_000;

/**
 * Keeps a notebook unchanged that was only opened.
 *
 * A kernel tells its version, which JupyterLab writes into the notebook, and then asks whether to
 * save it.
 */
function watch(context: Context): void {
  const { model } = context;
  if (model.isDisposed || (context.contentsModel?.size ?? 0) > MOST_BYTES) {
    return;
  }
  const opened = withoutKernel(model);
  const look = () => {
    if (model.isDisposed || !model.dirty) {
      return;
    }
    if (withoutKernel(model) === opened) {
      model.dirty = false;
    } else {
      model.stateChanged.disconnect(look);
    }
  };
  // JupyterLab has completed the metadata of a notebook without a language.
  look();
  model.stateChanged.connect(look);
}

/** A notebook as text, without what its kernel says of itself; a choice of the kernel counts. */
function withoutKernel(model: Context['model']): string {
  const { metadata, ...notebook } = model.toJSON() as { metadata?: JSONObject };
  const kernel = (metadata?.kernelspec as JSONObject | undefined)?.name ?? '';
  const own = { ...metadata, kernelspec: null, language_info: null };
  return JSON.stringify({ ...notebook, metadata: own, kernel });
}

/** In JupyterLab and Notebook. */
export const unchangedPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:unchanged',
  description: 'Keeps a notebook unchanged that was only opened.',
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    app.docRegistry.addWidgetExtension('Notebook', {
      createNew: (_, context) => void context.ready.then(() => watch(context))
    });
  }
};
