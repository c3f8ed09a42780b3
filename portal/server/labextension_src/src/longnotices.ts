import { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';

/** Of longer ones JupyterLab shows the beginning, nowhere the rest: often what to do. */
const MOST_CHARACTERS = 140;
const LABEL = 'Read all';
/** JupyterLab makes the toast meanwhile; an update of one that is not there yet makes a second. */
const PAUSE_MS = 500;

function readAll(message: string): Notification.IAction {
  return {
    label: LABEL,
    callback: event => {
      event.preventDefault();
      const buttons = [Dialog.okButton({ label: 'Close' })];
      void showDialog({ title: 'Message', body: message, buttons });
    }
  };
}

function extend(id: string): void {
  const notification = Notification.manager.notifications.find(one => one.id === id);
  if (!notification || notification.message.length <= MOST_CHARACTERS) {
    return;
  }
  const actions = notification.options.actions ?? [];
  if (!actions.some(action => action.label === LABEL)) {
    const { message } = notification;
    Notification.update({ id, message, actions: [...actions, readAll(message)] });
  }
}

/** A button on each long notification that shows all of it. */
export const longNoticesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:long-notices',
  description: 'Lets long notifications be read to their end.',
  autoStart: true,
  activate: () => {
    Notification.manager.changed.connect((_, { type, notification }) => {
      if (type === 'added') {
        setTimeout(() => extend(notification.id), PAUSE_MS);
      }
    });
  }
};
