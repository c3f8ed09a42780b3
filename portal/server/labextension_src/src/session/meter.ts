import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IStatusBar } from '@jupyterlab/statusbar';

import { METER_TITLE } from './metericon';
import { MeterPanel } from './meterpanel';
import { cpuShare, gb, percent, simulated } from './meterwords';
import { PALETTE_CATEGORY } from '../lab/palette';
import { addStatusButton, StatusButton } from '../base/statusbutton';
import { IMeter, ISession } from './session';

const SHOW_USAGE = 'data-scientist-portal:show-usage';

/** One line for the status bar. */
export function summary(meter: IMeter): string {
  const parts = [];
  if (meter.are_gpus_simulated && meter.n_gpus > 0) {
    parts.push(simulated(meter));
  } else if (meter.gpus && meter.gpus.length > 0) {
    parts.push(`GPU ${meter.gpus.map(gpu => percent(gpu.use_percent)).join(', ')}`);
  }
  parts.push(`CPU ${percent(cpuShare(meter, meter))}`);
  const limit = meter.memory_limit_mib === null ? '' : ` of ${gb(meter.memory_limit_mib)}`;
  parts.push(`Memory ${gb(meter.memory_mib)}${limit} GB`);
  return parts.join(' · ');
}

export const meterPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:meter',
  description: 'Shows the usage of GPUs, cores and memory.',
  autoStart: true,
  requires: [ISession],
  optional: [IStatusBar, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    session: ISession,
    statusBar: IStatusBar | null,
    palette: ICommandPalette | null
  ) => {
    const panel = new MeterPanel(session);
    app.shell.add(panel, 'right', { rank: 900 });
    const title = `${METER_TITLE}. Click for the last 15 minutes.`;
    const open = () => app.shell.activateById(panel.id);
    app.commands.addCommand(SHOW_USAGE, { label: 'Show Resource Usage', execute: open });
    palette?.addItem({ command: SHOW_USAGE, category: PALETTE_CATEGORY });
    const button = new StatusButton('data-scientist-portal-meter', title, open);
    addStatusButton(app, statusBar, button, 10);
    session.changed.connect((_, { meter }) => {
      if (meter) {
        button.showText(summary(meter));
      }
    });
    session.ended.connect(() => button.hide());
  }
};
