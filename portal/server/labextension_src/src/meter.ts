import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IStatusBar } from '@jupyterlab/statusbar';
import { LabIcon } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';

import { count } from './format';
import { drawGraph, IPoint } from './graph';
import { PALETTE_CATEGORY } from './palette';
import { addStatusButton, StatusButton } from './statusbutton';
import { IMeter, ISample, ISession } from './session';

const SHOW_USAGE = 'data-scientist-portal:show-usage';
const TITLE = 'Resource usage of this session';
const HISTORY_S = 15 * 60;
// A tab that was hidden has missed samples.
const LONGEST_GAP_S = 20;

const meterIcon = new LabIcon({
  name: 'data-scientist-portal:meter',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3" ' +
    'fill="#616161" d="M3 20h18v-2H3zM4 16h3v-5H4zm5 0h3V4H9zm5 0h3V8h-3zm5 0h2v-3h-2z"/></svg>'
});

function percent(value: number | null): string {
  return value === null ? '–' : `${Math.round(value)} %`;
}

function gb(mib: number | null): string {
  return mib === null ? '–' : (mib / 1024).toFixed(1);
}

function cpuShare(sample: ISample, meter: IMeter): number | null {
  return sample.cpu_percent === null ? null : sample.cpu_percent / meter.n_cores;
}

function simulated(meter: IMeter): string {
  return count(meter.n_gpus, 'simulated GPU');
}

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

/** The last 15 minutes, drawn. */
class MeterPanel extends Widget {
  private samples: ISample[] = [];

  constructor(private readonly session: ISession) {
    super();
    this.id = 'data-scientist-portal-meter-panel';
    this.addClass('dsp-panel');
    this.title.icon = meterIcon;
    this.title.caption = TITLE;
    this.title.label = '';
    session.changed.connect((_, { meter }) => meter && void this.take(meter));
  }

  private async take(meter: IMeter): Promise<void> {
    const last = this.samples[this.samples.length - 1];
    if (!this.isVisible || last?.at_s === meter.at_s) {
      return;
    }
    if (!last || meter.at_s - last.at_s > LONGEST_GAP_S) {
      this.samples = await this.session.history();
    } else {
      this.samples.push(meter);
    }
    this.samples = this.samples.filter(sample => sample.at_s >= meter.at_s - HISTORY_S);
    this.draw(meter);
  }

  protected onAfterShow(): void {
    const meter = this.session.state?.meter;
    if (meter) {
      this.samples = [];
      void this.take(meter);
    }
  }

  private draw(meter: IMeter): void {
    const heading = document.createElement('h2');
    heading.textContent = TITLE;
    const line = (value: (sample: ISample) => number | null): IPoint[] =>
      this.samples.map(sample => ({ x: sample.at_s - meter.at_s, y: value(sample) }));
    const graphs = gpuGraphs(meter, line);
    const cores = `of ${count(meter.n_cores, 'core')}`;
    graphs.push(
      drawGraph(
        `CPU ${cores}`,
        percent(cpuShare(meter, meter)),
        line(sample => cpuShare(sample, meter)),
        100,
        HISTORY_S
      )
    );
    const limit = meter.memory_limit_mib;
    const most = limit ?? Math.max(1024, ...this.samples.map(sample => sample.memory_mib ?? 0));
    graphs.push(
      drawGraph(
        'Memory',
        `${gb(meter.memory_mib)}${limit === null ? '' : ` of ${gb(limit)}`} GB`,
        line(sample => sample.memory_mib),
        most,
        HISTORY_S
      )
    );
    const axis = document.createElement('div');
    axis.className = 'dsp-axis';
    axis.innerHTML = '<span>15 minutes ago</span><span>now</span>';
    this.node.replaceChildren(heading, ...graphs, axis);
  }
}

type Line = (value: (sample: ISample) => number | null) => IPoint[];

function gpuGraphs(meter: IMeter, line: Line): HTMLElement[] {
  if (meter.are_gpus_simulated || !meter.gpus || meter.gpus.length === 0) {
    const text = document.createElement('p');
    text.textContent = meter.are_gpus_simulated
      ? `${simulated(meter)}: Slurm allocates them, but they compute nothing, so there is no usage to show.`
      : meter.n_gpus > 0
        ? 'The GPU driver is not responding, so GPU usage is unknown.'
        : 'This session has no GPU.';
    return [text];
  }
  return meter.gpus.flatMap((gpu, index) => [
    drawGraph(
      meter.gpus!.length > 1 ? `GPU ${index}: ${gpu.name}` : gpu.name,
      `${percent(gpu.use_percent)}${gpu.temperature_c === null ? '' : ` · ${gpu.temperature_c} °C`}`,
      line(sample => sample.gpus?.[index]?.use_percent ?? null),
      100,
      HISTORY_S
    ),
    drawGraph(
      'GPU memory',
      `${gb(gpu.memory_mib)} of ${gb(gpu.memory_total_mib)} GB`,
      line(sample => sample.gpus?.[index]?.memory_mib ?? null),
      gpu.memory_total_mib ?? 1,
      HISTORY_S
    )
  ]);
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
    const title = `${TITLE}. Click for the last 15 minutes.`;
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
  }
};
