import { Dialog } from '@jupyterlab/apputils';
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** What the session answers to a request without a valid login. */
export const FORBIDDEN = 403;
const OK = 200;
const CHECK_INTERVAL_MS = 2_000;

/** One dialog serves all requests that wait for the login. */
let asking: Promise<boolean> | null = null;
let isDismissed = false;

/** Whether the session answers and refuses this user; of a session that has ended the hub answers. */
export async function isSignedOut(settings: ServerConnection.ISettings): Promise<boolean> {
  return (await statusOfLogin(settings)) === FORBIDDEN;
}

async function statusOfLogin(settings: ServerConnection.ISettings): Promise<number> {
  const url = URLExt.join(settings.baseUrl, 'api/me');
  const response = await ServerConnection.makeRequest(url, {}, settings).catch(() => null);
  return response?.status ?? 0;
}

/**
 * Ask the user to sign in again in another tab, and wait for it; false if the user declines.
 *
 * A user who declined is not asked again until `isAction`: something that needs the login was done.
 */
export function signIn(settings: ServerConnection.ISettings, isAction: boolean): Promise<boolean> {
  if (isDismissed && !isAction) {
    return Promise.resolve(false);
  }
  asking ??= ask(settings)
    .then(isDone => {
      isDismissed = !isDone;
      return isDone;
    })
    .finally(() => (asking = null));
  return asking;
}

async function ask(settings: ServerConnection.ISettings): Promise<boolean> {
  const { isDone, isAccepted } = await showUntilSignedIn(settings, {
    title: 'You are signed out',
    body: 'Your session is still running. Sign in again in a new tab, then return to this one; unsaved changes stay in it.',
    buttons: [Dialog.cancelButton({ label: 'Not now' }), Dialog.okButton({ label: 'Sign in' })]
  });
  if (!isAccepted) {
    return isDone;
  }
  // The hub's pages cut the tie between the tabs, so this one cannot close the other.
  window.open(settings.baseUrl, '_blank');
  const waiting = await showUntilSignedIn(settings, {
    title: 'Waiting for you to sign in',
    body: 'This tab continues when you have signed in again in the other one.',
    buttons: [Dialog.cancelButton()]
  });
  return waiting.isDone;
}

/** Show a dialog that closes by itself when the user is signed in. */
async function showUntilSignedIn(
  settings: ServerConnection.ISettings,
  options: Partial<Dialog.IOptions<unknown>>
): Promise<{ isDone: boolean; isAccepted: boolean }> {
  const dialog = new Dialog(options);
  let isDone = false;
  const check = async () => {
    if (!isDone && (await statusOfLogin(settings)) === OK) {
      isDone = true;
      dialog.reject();
    }
  };
  const timer = window.setInterval(() => void check(), CHECK_INTERVAL_MS);
  const { button } = await dialog.launch();
  window.clearInterval(timer);
  return { isDone, isAccepted: button.accept };
}
