import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, Notification } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { DocumentRegistry } from '@jupyterlab/docregistry';
import { Contents, ServerConnection } from '@jupyterlab/services';

import { isAway } from '../base/away';
import { leaveFileToRoom } from '../collaboration/room';
import { isSameDocument } from './samedocument';
import { ISession } from '../session/session';

type Context = DocumentRegistry.Context;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;
const SHOWN_MS = 5_000;

/** JupyterLab shows no dialog of its own for an error of this name. */
class AwayError extends Error {
  readonly name = 'ModalCancelError';
}

/** Saves what could not be saved while the portal was away or the session had ended. */
class Resaver {
  /** Documents that are being saved, by path, and what was sent without an answer. */
  private readonly saving = new Map<string, { context: Context; sent: Contents.IModel | null }>();
  private readonly waiting = new Map<Context, Promise<void>>();
  private notice = '';

  constructor(
    contents: Contents.IManager,
    private readonly session: ISession,
    private readonly start: Notification.IAction
  ) {
    // Until the hub has said so, the end of a session looks like a portal that is away.
    session.ended.connect(() => Notification.dismiss(this.notice));
    // The dialog that tells the end says the same.
    Dialog.tracker.widgetAdded.connect(() => {
      if (session.hasEnded) {
        Notification.dismiss(this.notice);
      }
    });
    const get = contents.get.bind(contents);
    const save = contents.save.bind(contents);
    contents.get = (path, options) => {
      const one = this.saving.get(path);
      return one ? this.orAway(() => this.look(one, get, path, options)) : get(path, options);
    };
    contents.save = async (path, options) => {
      const one = this.saving.get(path);
      if (!one) {
        return save(path, options);
      }
      one.sent = (options ?? null) as Contents.IModel | null;
      const saved = await this.orAway(() => save(path, options));
      one.sent = null;
      return saved;
    };
  }

  /** Have a document save again. */
  watch(context: Context): void {
    const save = context.save.bind(context);
    context.save = () => this.waiting.get(context) ?? this.save(context, save);
  }

  private async save(context: Context, save: () => Promise<void>): Promise<void> {
    try {
      await this.attempt(context, save);
    } catch (error) {
      if (!(error instanceof AwayError)) {
        throw error;
      }
      // What is typed until then is saved, too: each attempt takes what the document has.
      const again = this.waiting.get(context) ?? this.saveLater(context, save);
      this.waiting.set(context, again);
      await again;
    }
  }

  private async attempt(context: Context, save: () => Promise<void>): Promise<void> {
    const { path } = context;
    // Of an attempt whose answer was lost it is still known what was sent.
    if (!this.saving.has(path)) {
      this.saving.set(path, { context, sent: null });
    }
    try {
      await save();
      this.saving.delete(path);
    } catch (error) {
      if (!(error instanceof AwayError)) {
        this.saving.delete(path);
      }
      throw error;
    }
  }

  private async saveLater(context: Context, save: () => Promise<void>): Promise<void> {
    const { path } = context;
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 1.5 * pauseMs)) {
        this.tell([...this.waiting.keys(), context]);
        await new Promise(resolve => window.setTimeout(resolve, pauseMs));
        if (context.isDisposed) {
          return;
        }
        if ((await this.session.presence()) !== 'there') {
          continue;
        }
        try {
          await this.attempt(context, save);
          return;
        } catch (error) {
          if (!(error instanceof AwayError)) {
            throw error;
          }
        }
      }
    } finally {
      this.saving.delete(path);
      this.waiting.delete(context);
      this.tellEnd(context);
    }
  }

  /** What the server has now, as JupyterLab asks before it saves. */
  private async look(
    { context, sent }: { context: Context; sent: Contents.IModel | null },
    get: Contents.IManager['get'],
    path: string,
    options?: Contents.IFetchOptions
  ): Promise<Contents.IModel> {
    const model = await get(path, options);
    const known = context.contentsModel;
    if (!sent || !known || model.hash === known.hash) {
      return model;
    }
    const { type, format } = sent;
    const found = await get(path, { ...options, type, format, content: true });
    // It had arrived, and only the answer was lost: nobody else has changed the document.
    return isSameDocument(sent.content, found.content)
      ? { ...model, hash: known.hash, last_modified: known.last_modified }
      : model;
  }

  private async orAway<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      const isLost = error instanceof ServerConnection.NetworkError;
      if (isLost || (error instanceof ServerConnection.ResponseError && isAway(error.response))) {
        throw new AwayError('The portal is not responding.');
      }
      throw error;
    }
  }

  private tell(contexts: ReadonlyArray<Context>): void {
    const names = [...new Set(contexts)].map(context => PathExt.basename(context.localPath));
    const { hasEnded } = this.session;
    if (hasEnded && Dialog.tracker.size > 0) {
      return;
    }
    const message = hasEnded
      ? `This session has ended. ${names.join(', ')} will be saved when you start a session again.`
      : `The portal is not responding. ${names.join(', ')} will be saved when it is back.`;
    const known = Notification.manager.notifications.find(({ id }) => id === this.notice);
    if (known?.message === message) {
      return;
    }
    Notification.dismiss(this.notice);
    if (!hasEnded) {
      this.notice = Notification.emit(message, 'in-progress', { autoClose: false });
    } else {
      this.notice = Notification.info(message, { autoClose: false, actions: [this.start] });
    }
  }

  private tellEnd(context: Context): void {
    if (this.waiting.size > 0) {
      this.tell([...this.waiting.keys()]);
      return;
    }
    Notification.dismiss(this.notice);
    if (!context.isDisposed && !context.model.dirty) {
      const name = PathExt.basename(context.localPath);
      Notification.success(`${name} has been saved.`, { autoClose: SHOWN_MS });
    }
  }
}

/** In JupyterLab and Notebook. */
export const resavePlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:resave',
  description: 'Saves again what could not be saved while the portal was away.',
  autoStart: true,
  requires: [ISession],
  activate: (app: JupyterFrontEnd, session: ISession) => {
    const resaver = new Resaver(app.serviceManager.contents, session, {
      label: 'Start a session',
      caption: 'Show why the session ended, and start another one',
      // Another tab, since this one holds what is not saved.
      callback: () => void window.open(app.serviceManager.serverSettings.baseUrl, '_blank')
    });
    const seen = new WeakSet<Context>();
    const watch = (factory: string) =>
      app.docRegistry.addWidgetExtension(factory, {
        createNew: (_, context) => {
          if (!seen.has(context)) {
            seen.add(context);
            resaver.watch(context);
            leaveFileToRoom(context, app.serviceManager.contents);
          }
        }
      });
    for (const { name } of app.docRegistry.widgetFactories()) {
      watch(name);
    }
    app.docRegistry.changed.connect((_, { type, name, change }) => {
      if (type === 'widgetFactory' && change === 'added' && name) {
        watch(name);
      }
    });
  }
};
