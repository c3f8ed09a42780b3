import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';

import { ITask } from './client';
import { doneText, EnvironmentTasks, failureText } from './tasks';

const POLL_MS = 1_000;
const OPEN = 'Open a notebook';
const AGAIN = 'Change it and try again';
const TITLES = {
  new: 'Making',
  add: 'Adding',
  update: 'Updating',
  remove: 'Removing',
  share: 'Sharing',
  unshare: 'Taking back'
};

/** Progress and output of a task. */
class TaskView extends Widget {
  private readonly step = document.createElement('p');
  private readonly bar = document.createElement('progress');
  private readonly log = document.createElement('pre');
  private offset = 0;

  constructor(
    private readonly tasks: EnvironmentTasks,
    private task: ITask
  ) {
    super();
    this.bar.style.width = '100%';
    Object.assign(this.node.style, { width: '52em', maxWidth: '80vw' });
    Object.assign(this.log.style, {
      height: '16em',
      overflow: 'auto',
      whiteSpace: 'pre-wrap',
      fontFamily: 'var(--jp-code-font-family)',
      fontSize: 'var(--jp-code-font-size)'
    });
    this.log.tabIndex = 0;
    this.log.setAttribute('aria-label', 'Output');
    this.bar.setAttribute('aria-label', 'Progress');
    this.step.setAttribute('role', 'status');
    if (task.state === 'failed') {
      const details = document.createElement('details');
      const summary = document.createElement('summary');
      summary.textContent = 'Details';
      details.append(summary, this.log);
      this.node.append(this.step, details);
    } else {
      // Of one that is done, the sentence is the last line of its output.
      this.node.append(...(task.state === 'running' ? [this.step, this.bar] : []), this.log);
    }
    void this.follow();
  }

  private async follow(): Promise<void> {
    for (let isLast = false; !isLast && !this.isDisposed;) {
      try {
        const { log, ...task } = await this.tasks.client.task(this.task.id, this.offset);
        this.task = task;
        this.offset = log.offset;
        this.log.append(log.text);
        this.log.scrollTop = this.log.scrollHeight;
        isLast = task.state !== 'running';
      } catch (error) {
        console.warn('The task cannot be read', error);
      }
      this.showState();
      await new Promise(resolve => window.setTimeout(resolve, POLL_MS));
    }
  }

  private showState(): void {
    const { n_steps, n_steps_done, state, step } = this.task;
    this.bar.max = n_steps;
    this.bar.value = n_steps_done;
    this.step.textContent =
      state === 'running'
        ? `Step ${n_steps_done + 1} of ${n_steps}: ${step} …`
        : failureText(this.task);
  }
}

export interface IOffers {
  /** To open a notebook, if it is done. */
  readonly notebook?: boolean;
  /** To ask for it again, if it failed. */
  readonly again?: boolean;
}

/**
 * Show a task until it has ended, also in the background, and return how it ended.
 *
 * Who looked at it until its end can take up what is offered then.
 */
export async function watchTask(
  tasks: EnvironmentTasks,
  task: ITask,
  offers: IOffers = {}
): Promise<ITask & { readonly isWantedAgain: boolean }> {
  const end = tasks.end(task.id);
  const isEnded = await showProgress(tasks, task);
  const ended = await end;
  let isWantedAgain = false;
  if (isEnded && ended.state === 'failed') {
    const again = offers.again ? [Dialog.okButton({ label: AGAIN })] : [];
    const { button } = await showDialog({
      title: `${TITLES[task.action]} the environment ${task.name} failed`,
      body: new TaskView(tasks, ended),
      buttons: [Dialog.cancelButton({ label: 'Close' }), ...again]
    });
    isWantedAgain = button.accept;
  } else if (isEnded && ended.state === 'done' && task.action === 'share') {
    // What the others have to do.
    await showDialog({
      title: doneText(ended),
      body: new TaskView(tasks, ended),
      buttons: [Dialog.okButton({ label: 'Close' })]
    });
  } else if (isEnded && ended.state === 'done' && offers.notebook) {
    const { button } = await showDialog({
      title: `The environment ${task.name}`,
      body: doneText(ended),
      buttons: [Dialog.cancelButton({ label: 'Close' }), Dialog.okButton({ label: OPEN })]
    });
    if (button.accept) {
      tasks.openNotebook(ended.kernel);
    }
  }
  return { ...ended, isWantedAgain };
}

/** Whether the task has ended while the dialog was open. */
async function showProgress(tasks: EnvironmentTasks, task: ITask): Promise<boolean> {
  const stop = Dialog.warnButton({ label: 'Cancel it', actions: ['stop'] });
  const dialog = new Dialog({
    title: `${TITLES[task.action]} the environment ${task.name}`,
    body: new TaskView(tasks, task),
    buttons: [stop, Dialog.cancelButton({ label: 'Continue in the background' })],
    defaultButton: 1
  });
  let isEnded = false;
  const close = (_: EnvironmentTasks, { id, state }: ITask) => {
    if (id === task.id && state !== 'running') {
      isEnded = true;
      dialog.reject();
    }
  };
  tasks.show(task.id, true);
  tasks.changed.connect(close);
  const { button } = await dialog.launch();
  tasks.changed.disconnect(close);
  tasks.show(task.id, false);
  if (button.actions.includes('stop')) {
    await tasks.client
      .cancel(task.id)
      .catch(error => Notification.error((error as Error).message, { autoClose: false }));
  }
  return isEnded;
}
