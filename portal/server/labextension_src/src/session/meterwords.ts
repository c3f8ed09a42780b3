import { count } from '../base/format';

interface IPart {
  readonly cpu_percent: number | null;
}

export function percent(value: number | null): string {
  return value === null ? '–' : `${Math.round(value)} %`;
}

export function gb(mib: number | null): string {
  return mib === null ? '–' : (mib / 1024).toFixed(1);
}

/** MiB a second, exact enough to tell something from nothing. */
export function rate(mibS: number | null | undefined): string {
  return mibS === null || mibS === undefined ? '–' : mibS.toFixed(mibS < 9.95 ? 1 : 0);
}

export function cpuShare(sample: IPart, meter: { readonly n_cores: number }): number | null {
  return sample.cpu_percent === null ? null : sample.cpu_percent / meter.n_cores;
}

export function simulated(meter: { readonly n_gpus: number }): string {
  return count(meter.n_gpus, 'simulated GPU');
}

/** The top of a graph whose values have no limit. */
export function mostOf(points: ReadonlyArray<{ y: number | null }>, least: number): number {
  return Math.max(least, ...points.map(point => point.y ?? 0));
}
