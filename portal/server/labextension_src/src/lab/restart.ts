import { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';

import { textWithGuide } from '../base/guide';
import { notSaved, saveAll } from '../files/save';
import { ISession } from '../session/session';

const PAUSE_MS = 1_000;
const MOST_PAUSES = 20;

/** Page of the hub's form, with what was chosen last; it leads back to what this tab shows. */
export function newSessionUrl(): string {
  const prefix = PageConfig.getOption('hubPrefix') || '/hub/';
  const names = [PageConfig.getOption('hubUser'), PageConfig.getOption('hubServerName')];
  const path = URLExt.join(prefix, 'spawn', ...names.filter(name => name).map(encodeURIComponent));
  const next = window.location.pathname + window.location.search;
  return `${PageConfig.getOption('hubHost')}${path}?next=${encodeURIComponent(next)}`;
}

/** Offer a new session with the same choices and the same notebooks open, in place of this one. */
export async function restartSession(
  app: JupyterFrontEnd,
  documents: IDocumentManager,
  session: ISession,
  reason: string
): Promise<void> {
  const text =
    'All open documents are saved, this session ends, and a new one is requested with the same ' +
    'options. The same notebooks reopen in it, with new kernels.';
  const { button } = await showDialog({
    title: reason ? 'The session was not extended' : 'Start a new session?',
    body: textWithGuide(reason ? `${reason}\n\n${text}` : text, 'sessionEnd'),
    buttons: [
      Dialog.cancelButton({ label: 'Keep this session' }),
      Dialog.warnButton({ label: 'Save and start a new session' })
    ]
  });
  if (button.accept) {
    await replaceSession(app, documents, session);
  }
}

/**
 * Save all documents, end this session and ask for one with the same choices, but for `changes` of
 * the form's address. What is to be done `before` the end may refuse it.
 */
export async function replaceSession(
  app: JupyterFrontEnd,
  documents: IDocumentManager,
  session: ISession,
  changes = '',
  before: () => Promise<void> = () => Promise.resolve()
): Promise<void> {
  const unsaved = await saveAll(app, documents);
  if (unsaved.length > 0) {
    Notification.error(`This session keeps running. ${notSaved(unsaved)}`, { autoClose: false });
    return;
  }
  try {
    await before();
    await session.end();
  } catch (error) {
    Notification.error((error as Error).message, { autoClose: false });
    return;
  }
  for (let i = 0; i < MOST_PAUSES && !(await hasEnded(session)); i++) {
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
  }
  window.location.assign(newSessionUrl() + changes);
}

/** While the last session is still ending, the hub redirects requests for a new one. */
async function hasEnded(session: ISession): Promise<boolean> {
  if ((await session.presence()) === 'there') {
    return false;
  }
  const answer = await fetch(newSessionUrl()).catch(() => null);
  return answer !== null && !answer.url.includes('pending');
}
