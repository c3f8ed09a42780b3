import { DocumentRegistry } from '@jupyterlab/docregistry';
import { Contents } from '@jupyterlab/services';

type Context = DocumentRegistry.Context;

interface IComparingContext {
  readonly _contentProviderId?: string;
  _raiseConflict(
    model: Contents.IModel,
    options: Partial<Contents.IModel>
  ): Promise<Contents.IModel>;
}

/**
 * Save a document that several people edit without a question about its file.
 *
 * The server's room writes the file after each change and takes in what others write to it. The page
 * hears of that later, so a save in between would ask whether to overwrite the user's own words.
 *
 * Source: Context._maybeSave of JupyterLab 4.6.
 */
export function leaveFileToRoom(context: Context, contents: Contents.IManager): void {
  const comparing = context as unknown as IComparingContext;
  const { _contentProviderId: contentProviderId } = comparing;
  const ask = comparing._raiseConflict.bind(context);
  comparing._raiseConflict = (found, options) =>
    context.model.collaborative
      ? contents.save(context.path, { ...options, contentProviderId })
      : ask(found, options);
}
