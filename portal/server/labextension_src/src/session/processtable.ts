import { gb, percent } from './meterwords';
import { IProcess } from './session';

/** The programs that use most, as a table; nothing if they are not known. */
export function drawProcesses(processes: ReadonlyArray<IProcess>, hasGpus: boolean): HTMLElement[] {
  if (processes.length === 0) {
    return [];
  }
  const names = ['Program', ...(hasGpus ? ['On GPU'] : []), 'CPU', 'Memory'];
  const table = document.createElement('table');
  table.className = 'dsp-processes';
  const head = table.createTHead().insertRow();
  for (const name of names) {
    const cell = document.createElement('th');
    cell.scope = 'col';
    cell.textContent = name;
    head.append(cell);
  }
  const body = table.createTBody();
  for (const one of processes) {
    const row = body.insertRow();
    row.title = `Process ${one.pid}`;
    const gpu = one.gpu_memory_mib > 0 ? `${gb(one.gpu_memory_mib)} GB` : '–';
    const texts = [one.name, ...(hasGpus ? [gpu] : [])];
    texts.push(percent(one.cpu_percent), `${gb(one.memory_mib)} GB`);
    for (const text of texts) {
      row.insertCell().textContent = text;
    }
  }
  return [table];
}
