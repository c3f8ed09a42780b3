import { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';

type Context = NonNullable<ReturnType<IDocumentManager['contextForWidget']>>;

const TIMEOUT_MS = 15_000;

/** The open documents that have changes. */
export function changedContexts(app: JupyterFrontEnd, documents: IDocumentManager): Context[] {
  const contexts = new Set<Context>();
  for (const widget of app.shell.widgets('main')) {
    const context = documents.contextForWidget(widget);
    if (context?.model.dirty) {
      contexts.add(context);
    }
  }
  return [...contexts];
}

/** Save every open document that has changes; returns the paths of those that could not be saved. */
export async function saveAll(
  app: JupyterFrontEnd,
  documents: IDocumentManager
): Promise<string[]> {
  const contexts = changedContexts(app, documents);
  const saved = await Promise.all(contexts.map(context => save(context)));
  return contexts.filter((_, index) => !saved[index]).map(context => context.localPath);
}

/** What to do about documents that could not be saved. */
export function notSaved(paths: ReadonlyArray<string>): string {
  return `Not saved: ${paths.join(', ')}. Save ${paths.length === 1 ? 'it' : 'them'} under another name.`;
}

/** Save all, and say what was saved or could not be. */
export async function saveAllAndReport(
  app: JupyterFrontEnd,
  documents: IDocumentManager,
  why: string
): Promise<void> {
  const unsaved = await saveAll(app, documents);
  if (unsaved.length > 0) {
    Notification.error(`${why} ${notSaved(unsaved)}`, {
      autoClose: false
    });
    return;
  }
  Notification.info(`${why} All open documents are saved.`, { autoClose: 10_000 });
}

async function save(context: Context): Promise<boolean> {
  if (context.contentsModel?.writable === false) {
    return false;
  }
  // A file that was changed by somebody else brings up a question, which nobody may answer.
  const late = new Promise<false>(resolve => setTimeout(() => resolve(false), TIMEOUT_MS));
  const saving = context.save().then(
    () => !context.model.dirty,
    () => false
  );
  return Promise.race([saving, late]);
}
