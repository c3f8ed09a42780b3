import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import {
  Dialog,
  ISessionContext,
  IToolbarWidgetRegistry,
  Notification,
  showDialog
} from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { DocumentWidget } from '@jupyterlab/docregistry';
import { ServerConnection } from '@jupyterlab/services';
import { Poll } from '@lumino/polling';
import { Widget } from '@lumino/widgets';

import { askPortal, fetchPortal } from '../base/api';
import { Forecast } from '../base/forecast';
import { Form, IField, Values } from '../base/form';
import { textWithGuide, withGuide } from '../base/guide';
import { replaceSession } from '../lab/restart';
import { ISession } from '../session/session';

const INTERVAL_MS = 5_000;

interface IGpus {
  readonly words: string;
  readonly reason: string;
  readonly gpus: number;
  readonly asked: string;
  readonly is_waiting: boolean;
  /** Of the session itself. */
  readonly session_gpus: number;
}

interface IChoices {
  /** The most GPUs of each type; that of any type is "". */
  readonly gpus: Readonly<Record<string, number>>;
  /** Value and text of each length, and the value of the site's own. */
  readonly hours: ReadonlyArray<readonly [string, string]>;
  readonly first_hours: string;
  /** What is left of the user's budget, a sentence. */
  readonly budget: string;
  /** The user's setting: always, ask or never. */
  readonly variables: string;
}

const NONE: IGpus = {
  words: 'no GPU',
  reason: '',
  gpus: 0,
  asked: '',
  is_waiting: false,
  session_gpus: 0
};

/** Shows what the kernel of a notebook has, and asks for more or less. */
class GpuButton extends Widget {
  private state = NONE;
  private readonly button: HTMLButtonElement;
  private readonly poll: Poll;

  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly context: ISessionContext,
    private readonly giveSessionBack: (() => Promise<void>) | null
  ) {
    super();
    this.addClass('jp-ToolbarButton');
    this.button = document.createElement('button');
    this.button.type = 'button';
    this.button.className = 'jp-ToolbarButtonComponent';
    this.button.style.whiteSpace = 'nowrap';
    this.button.addEventListener('click', () => void this.choose());
    this.node.append(this.button);
    this.show_(NONE);
    this.poll = new Poll({
      name: 'data-scientist-portal:kernel-gpus',
      factory: () => this.look(),
      frequency: { interval: INTERVAL_MS, backoff: true },
      standby: () => (this.isVisible ? 'when-hidden' : true)
    });
    context.kernelChanged.connect(() => void this.poll.refresh());
    context.statusChanged.connect(() => void this.poll.refresh());
  }

  dispose(): void {
    this.poll.dispose();
    super.dispose();
  }

  private get path(): string | null {
    const id = this.context.session?.kernel?.id;
    return id ? `kernels/${encodeURIComponent(id)}/gpus` : null;
  }

  private async look(): Promise<void> {
    const path = this.path;
    this.show_(path ? await askPortal<IGpus>(this.settings, path) : NONE);
  }

  private show_(state: IGpus): void {
    this.state = state;
    this.button.disabled = this.path === null;
    const text = state.is_waiting ? `waiting for ${state.asked}` : state.words;
    if (this.button.textContent !== text) {
      this.button.textContent = text;
    }
    this.button.title = state.reason || 'GPUs of this kernel: choose another number';
  }

  private async choose(): Promise<void> {
    if (!this.path) {
      return;
    }
    try {
      await (this.state.is_waiting ? this.askToCancel() : this.askForGpus());
    } catch (error) {
      Notification.error((error as Error).message, { autoClose: false });
    }
    await this.poll.refresh();
  }

  private async forecast(values: Values): Promise<string> {
    const path = `${this.path}/forecast`;
    const asked = requested(values);
    return (await askPortal<{ message: string }>(this.settings, path, 'POST', asked)).message;
  }

  private async askToCancel(): Promise<void> {
    const { button } = await showDialog({
      title: `Waiting for ${this.state.asked}`,
      body: this.state.reason || 'The kernel runs on here until the GPUs are there.',
      buttons: [
        Dialog.cancelButton({ label: 'Keep waiting' }),
        Dialog.warnButton({ label: 'Cancel the request' })
      ]
    });
    if (button.accept && this.path) {
      await fetchPortal(this.settings, `portal/api/${this.path}`, 'DELETE');
    }
  }

  private async askForGpus(): Promise<void> {
    let choices: IChoices | null = null;
    let reason = this.state.reason;
    try {
      choices = await askPortal<IChoices>(this.settings, 'kernel-gpus');
    } catch (error) {
      // What the kernel has can be given back all the same.
      reason = (error as Error).message;
    }
    const back = Dialog.warnButton({ label: 'Give the GPUs back', actions: ['back'] });
    const isOfSession = this.giveSessionBack !== null && this.state.session_gpus > 0;
    const ofSession = Dialog.createButton({
      label: 'Give the GPUs of the session back…',
      accept: false,
      actions: ['session']
    });
    const form = makeForm(choices, this.state, reason);
    const forecast = choices && new Forecast(form, values => this.forecast(values));
    const { button, value } = await showDialog({
      title: `This kernel has ${this.state.words}`,
      body: withGuide(form, 'kernelGpus'),
      buttons: [
        Dialog.cancelButton(),
        ...(isOfSession ? [ofSession] : []),
        ...(this.state.gpus ? [back] : []),
        ...(choices ? [Dialog.okButton({ label: 'Start the kernel anew' })] : [])
      ]
    });
    forecast?.stop();
    if (button.actions.includes('session')) {
      await this.giveSessionBack?.();
    } else if (button.accept && this.path) {
      const asked = button.actions.includes('back')
        ? { gpus: 0, ...(choices ? comeAlong(value!) : {}) }
        : requested(value!);
      this.show_(await askPortal<IGpus>(this.settings, this.path, 'POST', asked));
    }
  }
}

const GPUS = 'gpus of ';
const VARIABLES: IField = { key: 'variables', label: 'Variables come along', kind: 'check' };

function makeForm(choices: IChoices | null, state: IGpus, reason: string): Form {
  if (choices === null) {
    return new Form([], {}, reason);
  }
  const { gpus, hours, first_hours: length, budget } = choices;
  const types = Object.keys(gpus);
  const fields: IField[] = [
    {
      key: 'type',
      label: 'Type',
      kind: 'choice',
      choices: types.map(type => [type, type || 'any'] as const)
    },
    ...types.map(type => ({
      key: GPUS + type,
      label: 'GPUs',
      kind: 'choice' as const,
      choices: Array.from({ length: gpus[type] + 1 }, (_, n) => [`${n}`, `${n}`] as const),
      onlyIf: ['type', type] as const
    })),
    { key: 'hours', label: 'Length', kind: 'choice', choices: hours, hint: budget },
    VARIABLES
  ];
  const most = (type: string) => String(Math.min(state.gpus || 1, gpus[type]));
  const numbers = Object.fromEntries(types.map(type => [GPUS + type, most(type)]));
  const isWanted = choices.variables !== 'never';
  const values = { type: '', hours: length, ...numbers, [VARIABLES.key]: isWanted };
  return new Form(fields, values, reason);
}

/** What a form asks for, as the server wants it. */
function requested({ type, hours, variables, ...numbers }: Values): Values {
  const [n] = Object.values(numbers);
  return { gpus: type ? `${type}:${n}` : n, hours, ...comeAlong({ variables }) };
}

function comeAlong({ variables }: Values): Values {
  return { variables: variables ? 'always' : 'never' };
}

/** Put a session without GPUs in the place of this one, with the variables of its notebooks. */
async function giveSessionBack(
  app: JupyterFrontEnd,
  documents: IDocumentManager,
  session: ISession
): Promise<void> {
  const { serverSettings } = app.serviceManager;
  const { button } = await showDialog({
    title: 'Give the GPUs of the session back?',
    body: textWithGuide(
      'All open documents and the variables of their kernels are saved, this session ends, and a ' +
        'new one without GPUs is requested. The same notebooks reopen in it. Their variables are ' +
        'back at the first cell that you run.',
      'kernelGpus'
    ),
    buttons: [
      Dialog.cancelButton({ label: 'Keep this session' }),
      Dialog.warnButton({ label: 'Save and give the GPUs back' })
    ]
  });
  if (button.accept) {
    await replaceSession(app, documents, session, '&gpus=0', async () => {
      await askPortal(serverSettings, 'kernel-gpus/follow-up', 'POST', {});
    });
  }
}

/** The button beside the name of a notebook's kernel. */
export const kernelGpusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:kernel-gpus',
  description: 'Shows the GPUs of the kernel of a notebook, and asks for others.',
  autoStart: true,
  optional: [IToolbarWidgetRegistry, IDocumentManager, ISession],
  activate: (
    app: JupyterFrontEnd,
    toolbars: IToolbarWidgetRegistry | null,
    documents: IDocumentManager | null,
    session: ISession | null
  ) => {
    const { serverSettings } = app.serviceManager;
    const isOffered = PageConfig.getOption('kernelGpus') === 'true';
    toolbars?.addFactory('Notebook', 'kernelGpus', panel => {
      const { context } = panel as DocumentWidget;
      const back = documents && session && (() => giveSessionBack(app, documents, session));
      return isOffered ? new GpuButton(serverSettings, context.sessionContext, back) : new Widget();
    });
  }
};
