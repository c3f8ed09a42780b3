import { Widget } from '@lumino/widgets';

import { drawCells } from '../kernels/cellmarks';
import { count } from '../base/format';
import { withGuide } from '../base/guide';
import { drawGraph, IPoint } from './graph';
import { meterIcon, METER_TITLE } from './metericon';
import { cpuShare, gb, mostOf, percent, rate, simulated } from './meterwords';
import { drawProcesses } from './processtable';
import { IActivity, IMeter, ISample, ISession } from './session';

const HISTORY_S = 15 * 60;
// A tab that was hidden has missed samples.
const LONGEST_GAP_S = 20;
// What the server keeps since the start are averages: new ones are fetched now and then.
const FETCH_AGAIN_S = 60;

type Line = (value: (sample: ISample) => number | null | undefined) => IPoint[];

/** The use of the session: the last 15 minutes or since its start, its programs, and advice. */
export class MeterPanel extends Widget {
  private samples: ISample[] = [];
  private fetchedS = 0;
  private isSinceStart = false;
  private activity: IActivity = { processes: [], cells: [], advice: null };
  private readonly body = document.createElement('div');
  private readonly choice = document.createElement('button');

  constructor(private readonly session: ISession) {
    super();
    this.id = 'data-scientist-portal-meter-panel';
    this.addClass('dsp-panel');
    this.title.icon = meterIcon;
    this.title.caption = METER_TITLE;
    this.title.label = '';
    const heading = document.createElement('h2');
    heading.textContent = METER_TITLE;
    this.choice.className = 'dsp-link';
    this.choice.addEventListener('click', () => this.choose(!this.isSinceStart));
    this.node.append(heading, this.choice, this.body);
    withGuide(this, 'sessionEnd');
    this.choose(false);
    session.changed.connect((_, { meter }) => meter && void this.take(meter));
  }

  private choose(isSinceStart: boolean): void {
    this.isSinceStart = isSinceStart;
    this.choice.textContent = isSinceStart ? 'Show the last 15 minutes' : 'Show since the start';
    this.samples = [];
    this.onAfterShow();
  }

  protected onAfterShow(): void {
    const meter = this.session.state?.meter;
    if (meter) {
      this.samples = [];
      void this.take(meter);
    }
  }

  private async take(meter: IMeter): Promise<void> {
    const last = this.samples[this.samples.length - 1];
    if (!this.isVisible || last?.at_s === meter.at_s) {
      return;
    }
    const isSinceStart = this.isSinceStart;
    const isOld = isSinceStart && meter.at_s - this.fetchedS > FETCH_AGAIN_S;
    if (!last || isOld || meter.at_s - last.at_s > LONGEST_GAP_S) {
      const samples = await this.session.history(isSinceStart);
      if (isSinceStart !== this.isSinceStart) {
        return;
      }
      this.samples = samples;
      this.fetchedS = meter.at_s;
    } else {
      this.samples.push(meter);
    }
    if (!isSinceStart) {
      this.samples = this.samples.filter(sample => sample.at_s >= meter.at_s - HISTORY_S);
    }
    this.activity = await this.session.activity();
    this.draw(meter);
  }

  private draw(meter: IMeter): void {
    const oldest = this.samples[0]?.at_s ?? meter.at_s;
    const widthS = this.isSinceStart ? Math.max(60, meter.at_s - oldest) : HISTORY_S;
    const period = this.isSinceStart ? 'since the start' : 'over the last 15 minutes';
    const line: Line = value =>
      this.samples.map(sample => ({ x: sample.at_s - meter.at_s, y: value(sample) ?? null }));
    const graph = (name: string, value: string, points: IPoint[], most: number) =>
      drawGraph(name, value, points, most, { widthS, period });
    const parts: HTMLElement[] = [];
    if (this.activity.advice) {
      const advice = document.createElement('p');
      advice.className = 'dsp-advice';
      advice.textContent = this.activity.advice;
      parts.push(advice);
    }
    parts.push(...gpuGraphs(meter, line, graph), ...otherGraphs(meter, this.samples, line, graph));
    const cells = drawCells(this.activity.cells, meter.at_s, widthS);
    if (cells) {
      parts.push(cells);
    }
    const axis = document.createElement('div');
    axis.className = 'dsp-axis';
    const [from, to] = [document.createElement('span'), document.createElement('span')];
    from.textContent = this.isSinceStart
      ? new Date(oldest * 1000).toLocaleString()
      : '15 minutes ago';
    to.textContent = 'now';
    axis.append(from, to);
    parts.push(axis, ...drawProcesses(this.activity.processes, Boolean(meter.gpus?.length)));
    this.body.replaceChildren(...parts);
  }
}

type Graph = (name: string, value: string, points: IPoint[], most: number) => HTMLElement;

function gpuGraphs(meter: IMeter, line: Line, graph: Graph): HTMLElement[] {
  if (meter.are_gpus_simulated || !meter.gpus || meter.gpus.length === 0) {
    const text = document.createElement('p');
    text.textContent = meter.are_gpus_simulated
      ? `${simulated(meter)}: Slurm allocates them, but they compute nothing, so there is no usage to show.`
      : meter.n_gpus > 0
        ? 'The GPU driver is not responding, so GPU usage is unknown.'
        : 'This session has no GPU.';
    return [text];
  }
  return meter.gpus.flatMap((gpu, index) => {
    const of = meter.gpus!.length > 1 ? `GPU ${index}` : 'GPU';
    const graphs = [
      graph(
        meter.gpus!.length > 1 ? `GPU ${index}: ${gpu.name}` : gpu.name,
        percent(gpu.use_percent),
        line(sample => sample.gpus?.[index]?.use_percent),
        100
      ),
      graph(
        `${of} memory`,
        `${gb(gpu.memory_mib)} of ${gb(gpu.memory_total_mib)} GB`,
        line(sample => sample.gpus?.[index]?.memory_mib),
        gpu.memory_total_mib ?? 1
      )
    ];
    if (gpu.power_w !== null) {
      const power = line(sample => sample.gpus?.[index]?.power_w);
      const limit = gpu.power_limit_w === null ? '' : ` of ${gpu.power_limit_w}`;
      const most = gpu.power_limit_w ?? mostOf(power, 100);
      graphs.push(graph(`${of} power`, `${gpu.power_w}${limit} W`, power, most));
    }
    if (gpu.temperature_c !== null) {
      const degrees = line(sample => sample.gpus?.[index]?.temperature_c);
      graphs.push(graph(`${of} temperature`, `${gpu.temperature_c} °C`, degrees, 100));
    }
    return graphs;
  });
}

function otherGraphs(
  meter: IMeter,
  samples: ReadonlyArray<ISample>,
  line: Line,
  graph: Graph
): HTMLElement[] {
  const limit = meter.memory_limit_mib;
  const most = limit ?? Math.max(1024, ...samples.map(sample => sample.memory_mib ?? 0));
  const disk = line(sample => sum(sample.disk_read_mib_s, sample.disk_write_mib_s));
  const network = line(sample => sum(sample.network_in_mib_s, sample.network_out_mib_s));
  return [
    graph(
      `CPU of ${count(meter.n_cores, 'core')}`,
      percent(cpuShare(meter, meter)),
      line(sample => cpuShare(sample, meter)),
      100
    ),
    graph(
      'Memory',
      `${gb(meter.memory_mib)}${limit === null ? '' : ` of ${gb(limit)}`} GB`,
      line(sample => sample.memory_mib),
      most
    ),
    graph(
      'Read · written',
      `${rate(meter.disk_read_mib_s)} · ${rate(meter.disk_write_mib_s)} MiB/s`,
      disk,
      mostOf(disk, 1)
    ),
    graph(
      'Network in · out',
      `${rate(meter.network_in_mib_s)} · ${rate(meter.network_out_mib_s)} MiB/s`,
      network,
      mostOf(network, 1)
    )
  ];
}

function sum(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}
