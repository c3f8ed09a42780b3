import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, Notification, showDialog } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IStatusBar } from '@jupyterlab/statusbar';

import { restartSession } from '../lab/restart';
import { formatCountdown, formatDuration } from '../base/format';
import { textWithGuide } from '../base/guide';
import { PALETTE_CATEGORY } from '../lab/palette';
import { addStatusButton, StatusButton } from '../base/statusbutton';
import { notSaved, saveAll } from '../files/save';
import { ISession, ISessionState } from './session';

const EXTEND_SESSION = 'data-scientist-portal:extend-session';
const NEW_SESSION = 'data-scientist-portal:new-session';
const TICK_MS = 1_000;
const TITLE = 'Time left in this session. Click to extend it.';
const ENDED_TITLE = 'This session has ended. Click for details.';

function endTime(leftS: number): string {
  const end = new Date(Date.now() + leftS * 1000);
  const day = leftS > 86_400 ? end.toLocaleDateString([], { weekday: 'long' }) + ' ' : '';
  return day + end.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

function warningText(leftS: number): string {
  return `This session ends in ${formatCountdown(leftS)}, at ${endTime(leftS)}.`;
}

/** Warns, saves and extends in this tab. */
class Clock {
  private warnedS = Infinity;
  private nSignals: number | null = null;
  private warning = '';
  private isSaved = false;
  private readonly button: StatusButton;

  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly session: ISession,
    private readonly documents: IDocumentManager,
    statusBar: IStatusBar | null
  ) {
    this.button = new StatusButton('data-scientist-portal-clock', TITLE, () => void this.ask());
    addStatusButton(app, statusBar, this.button, 20);
    session.changed.connect((_, state) => this.take(state));
    session.ended.connect(() => this.tick());
    window.setInterval(() => this.tick(), TICK_MS);
  }

  addCommands(palette: ICommandPalette | null): void {
    const { commands } = this.app;
    const isEnabled = () => this.session.leftS() !== null && !this.session.hasEnded;
    commands.addCommand(EXTEND_SESSION, {
      label: 'Extend Session…',
      isEnabled,
      execute: () => this.ask()
    });
    commands.addCommand(NEW_SESSION, {
      label: 'New Session…',
      isEnabled,
      execute: () => this.restart('')
    });
    [EXTEND_SESSION, NEW_SESSION].forEach(command =>
      palette?.addItem({ command, category: PALETTE_CATEGORY })
    );
  }

  private take(state: ISessionState): void {
    const { n_signals: nSignals } = state.clock;
    if (this.nSignals !== null && nSignals > this.nSignals) {
      void this.save();
    }
    if (this.nSignals === null) {
      [EXTEND_SESSION, NEW_SESSION].forEach(id => this.app.commands.notifyCommandChanged(id));
    }
    this.nSignals = nSignals;
    this.tick();
  }

  private tick(): void {
    this.button.node.title = this.session.hasEnded ? ENDED_TITLE : TITLE;
    if (this.session.hasEnded) {
      this.dismiss();
      this.button.showText('Session ended');
      return;
    }
    const leftS = this.session.leftS();
    // From the server, which has them from warnings_minutes of [clock] in portal.toml.
    const warningsS = this.session.state?.clock.warnings_s ?? [];
    if (leftS === null) {
      this.button.hide();
      return;
    }
    const isNear = leftS <= Math.max(0, ...warningsS);
    this.button.showText(`${formatCountdown(leftS)} left`, isNear ? 'warn' : 'plain');
    const dueS = Math.min(Infinity, ...warningsS.filter(s => leftS <= s));
    if (dueS === Infinity && this.warnedS !== Infinity) {
      this.dismiss();
    }
    if (leftS === 0) {
      this.dismiss();
    } else if (dueS < this.warnedS) {
      this.warn(leftS, dueS === Math.min(...warningsS));
    } else if (this.warning) {
      Notification.update({ id: this.warning, message: this.text(leftS) });
    }
    this.warnedS = dueS;
  }

  private warn(leftS: number, isLast: boolean): void {
    this.dismiss();
    const actions = this.actions();
    this.warning = Notification.warning(this.text(leftS), { autoClose: false, actions });
    if (isLast) {
      void this.save();
    }
  }

  private text(leftS: number): string {
    return warningText(leftS) + (this.isSaved ? ' All open documents have been saved.' : '');
  }

  /** Save all; the warning says so, or a message of its own where something was not saved. */
  private async save(): Promise<void> {
    const unsaved = await saveAll(this.app, this.documents);
    if (unsaved.length > 0) {
      const message = `This session ends soon. ${notSaved(unsaved)}`;
      Notification.error(message, { autoClose: false });
    } else if (this.warning) {
      this.isSaved = true;
    } else {
      Notification.info('This session ends soon. All open documents have been saved.', {
        autoClose: 10_000
      });
    }
  }

  private actions(): Notification.IAction[] {
    const step = this.session.state?.clock.step_s ?? 0;
    const restart = { label: 'New session', callback: () => void this.restart('') };
    const extend = {
      label: `Extend by ${formatDuration(step)}`,
      callback: () => void this.extend()
    };
    return step > 0 ? [extend, restart] : [restart];
  }

  private async ask(): Promise<void> {
    if (this.session.hasEnded) {
      // Another tab, since this one holds what is not saved.
      window.open(this.app.serviceManager.serverSettings.baseUrl, '_blank');
      return;
    }
    const leftS = this.session.leftS() ?? 0;
    const { step_s: step, n_left: n } = this.session.state!.clock;
    const times = n === 1 ? 'once more' : `${n} more times`;
    const offer =
      step > 0
        ? `You can extend it ${times}, by ${formatDuration(step)}${n === 1 ? '' : ' each'}.`
        : 'This site does not let you extend it further. A new session can take its place.';
    // Apart from the others: it asks again, since it ends this session.
    const buttons = [
      Dialog.createButton({ label: 'New session…', accept: false, actions: ['restart'] }),
      Dialog.cancelButton({ label: 'Close' })
    ];
    if (step > 0) {
      buttons.push(
        Dialog.okButton({ label: `Extend by ${formatDuration(step)}`, actions: ['extend'] })
      );
    }
    const { button } = await showDialog({
      title: `This session ends at ${endTime(leftS)}`,
      body: textWithGuide(offer, 'sessionEnd'),
      buttons
    });
    if (button.actions.includes('extend')) {
      await this.extend();
    } else if (button.actions.includes('restart')) {
      await this.restart('');
    }
  }

  private async extend(): Promise<void> {
    try {
      await this.session.extend();
    } catch (error) {
      await this.restart((error as Error).message);
      return;
    }
    const until = endTime(this.session.leftS() ?? 0);
    Notification.success(`The session now ends at ${until}.`, { autoClose: 8_000 });
  }

  private restart(reason: string): Promise<void> {
    return restartSession(this.app, this.documents, this.session, reason);
  }

  private dismiss(): void {
    if (this.warning) {
      Notification.dismiss(this.warning);
      this.warning = '';
      this.isSaved = false;
    }
  }
}

export const endWarningPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:clock',
  description: 'Shows the time left in the session, warns, saves and extends.',
  autoStart: true,
  requires: [ISession, IDocumentManager],
  optional: [IStatusBar, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    session: ISession,
    documents: IDocumentManager,
    statusBar: IStatusBar | null,
    palette: ICommandPalette | null
  ) => new Clock(app, session, documents, statusBar).addCommands(palette)
};
