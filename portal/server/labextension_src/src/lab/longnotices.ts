import { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';

import { addStyle } from '../base/style';

/** Of longer ones JupyterLab shows the beginning, nowhere the rest: often what to do. */
const MOST_CHARACTERS = 140;
/** JupyterLab draws the notification meanwhile. */
const PAUSE_MS = 300;

/** Put back what JupyterLab cut off, in the text that it drew, so that it can still change it. */
function complete(): void {
  const cut = Notification.manager.notifications
    .map(({ message }) => message)
    .filter(message => message.length > MOST_CHARACTERS);
  for (const shown of document.querySelectorAll('.jp-toast-message')) {
    const beginning = (shown.textContent ?? '').slice(0, MOST_CHARACTERS / 2);
    const message = cut.find(text => text.replaceAll('\n', '').startsWith(beginning));
    if (message !== undefined && shown.lastChild !== null) {
      // Each line has a text of its own.
      const last = message.slice(0, MOST_CHARACTERS).lastIndexOf('\n') + 1;
      shown.lastChild.nodeValue = message.slice(last);
    }
  }
}

/** Shows long notifications in full, below the page and in the list of all. */
export const longNoticesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:long-notices',
  description: 'Shows long notifications in full.',
  autoStart: true,
  activate: () => {
    addStyle('data-scientist-portal-long-notices', '.jp-toast-message { white-space: pre-line; }');
    const completeSoon = () => void setTimeout(complete, PAUSE_MS);
    Notification.manager.changed.connect(completeSoon);
    // The list of all is added to the page when it is opened.
    new MutationObserver(completeSoon).observe(document.body, { childList: true });
  }
};
