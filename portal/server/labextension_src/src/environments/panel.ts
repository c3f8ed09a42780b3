import { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';

import { IListing, IOwnEnvironment, ITask, Order } from './client';
import { EnvironmentTasks } from './tasks';
import { askGroup } from './forms';
import { withGuide } from '../base/guide';
import { environmentIcon } from '../base/icon';
import { saveAsNew } from '../base/newfile';
import { watchTask } from './taskdialog';

const HEADINGS = ['Name', 'Place', 'Size', 'State', ''];

/** The user's own environments: state, size, place, and what can be done with each. */
export class EnvironmentsPanel extends Widget {
  private readonly body = document.createElement('tbody');
  private readonly message = document.createElement('p');

  /** `add` are the commands that add one. */
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly tasks: EnvironmentTasks,
    add: ReadonlyArray<string>
  ) {
    super();
    this.title.label = 'Environments';
    this.title.icon = environmentIcon;
    Object.assign(this.node.style, { padding: '16px', overflow: 'auto' });
    const heading = document.createElement('h2');
    heading.textContent = 'Your environments';
    const buttons = document.createElement('p');
    add.forEach(command =>
      buttons.append(button(app.commands.label(command), () => void app.commands.execute(command)))
    );
    buttons.append(button('Refresh', () => void this.read()));
    const table = document.createElement('table');
    table.className = 'jp-RenderedHTMLCommon';
    table.createTHead().append(row(HEADINGS, 'th'));
    table.append(this.body);
    this.message.setAttribute('role', 'status');
    this.node.append(heading, buttons, this.message, table);
    withGuide(this, 'environment');
    tasks.changed.connect(this.onTask);
    void this.read();
  }

  dispose(): void {
    this.tasks.changed.disconnect(this.onTask);
    super.dispose();
  }

  private readonly onTask = (_: EnvironmentTasks, { state }: ITask) => {
    if (state !== 'running') {
      void this.read();
    }
  };

  private async read(): Promise<void> {
    this.message.textContent = 'Looking …';
    try {
      const { client } = this.tasks;
      const [own, listing] = await Promise.all([client.own(), client.listing()]);
      this.body.replaceChildren(...own.map(one => this.lineOf(one, listing)));
      this.message.textContent =
        own.length > 0
          ? ''
          : 'You have none yet. An environment is a kernel with packages of your own choice.';
    } catch (error) {
      this.message.textContent = (error as Error).message;
    }
  }

  private lineOf(one: IOwnEnvironment, { environments }: IListing): HTMLElement {
    const listed = environments.find(({ kernel }) => kernel === one.kernel);
    const isOffered = listed !== undefined && !listed.problem;
    const state = one.is_gone
      ? 'Its files are gone'
      : (listed?.problem ?? 'Not checked yet') || 'Ready';
    const shared = one.group ? `, shared with the group ${one.group}` : '';
    const size = one.size_mib === null ? '' : `${one.size_mib.toFixed(1)} MiB`;
    const line = row([one.name, one.place, size, state + shared], 'td');
    const cell = document.createElement('td');
    Object.assign(cell.style, { textAlign: 'left', minWidth: '20em' });
    if (isOffered) {
      cell.append(this.action('Open a notebook', one, () => this.tasks.openNotebook(one.kernel)));
    }
    if (one.is_locked && one.is_deleted) {
      cell.append(this.action('Update', one, () => this.run({ action: 'update', name: one.id })));
    }
    if (one.is_locked && one.is_deleted) {
      cell.append(this.action('Share…', one, () => this.share(one)));
    }
    if (!one.is_gone) {
      cell.append(this.action('Export', one, () => this.exportPackages(one)));
    }
    cell.append(this.action('Remove', one, () => this.remove(one)));
    line.append(cell);
    return line;
  }

  private action(label: string, { name }: IOwnEnvironment, act: () => unknown): HTMLButtonElement {
    const made = button(label, () => {
      void Promise.resolve(act()).catch(error =>
        Notification.error((error as Error).message, { autoClose: false })
      );
    });
    made.setAttribute('aria-label', `${label}: ${name}`);
    return made;
  }

  private async run(order: Order): Promise<void> {
    await watchTask(this.tasks, await this.tasks.start(order));
  }

  private async share(one: IOwnEnvironment): Promise<void> {
    const order = await askGroup(this.tasks, one);
    if (order !== null) {
      await this.run(order);
    }
  }

  private async exportPackages({ id }: IOwnEnvironment): Promise<void> {
    const { text } = await this.tasks.client.exported(id);
    const { contents } = this.app.serviceManager;
    const path = await saveAsNew(contents, `requirements-${id}`, '.txt', text);
    await this.app.commands.execute('docmanager:open', { path });
  }

  private async remove({ id, name, place, is_deleted }: IOwnEnvironment): Promise<void> {
    const { button: chosen } = await showDialog({
      title: `Remove ${name}?`,
      body: is_deleted
        ? `${place} will be deleted.`
        : `It will be removed as a kernel. The files in ${place} will be kept.`,
      buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Remove' })]
    });
    if (chosen.accept) {
      await this.run({ action: 'remove', name: id });
    }
  }
}

function row(texts: ReadonlyArray<string>, kind: 'td' | 'th'): HTMLTableRowElement {
  const line = document.createElement('tr');
  texts.forEach((text, i) => {
    const cell = document.createElement(kind);
    cell.textContent = text;
    cell.style.textAlign = HEADINGS[i] === 'Size' ? 'right' : 'left';
    if (HEADINGS[i] === 'Place') {
      Object.assign(cell.style, { overflowWrap: 'anywhere', minWidth: '12em' });
    } else if (HEADINGS[i] === 'Size') {
      cell.style.whiteSpace = 'nowrap';
    } else if (HEADINGS[i] === 'State') {
      cell.style.minWidth = '9em';
    }
    line.append(cell);
  });
  return line;
}

function button(label: string, act: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.className = 'jp-mod-styled';
  made.textContent = label;
  made.style.margin = '2px 6px 2px 0';
  made.addEventListener('click', act);
  return made;
}
