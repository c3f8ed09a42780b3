import { ICellRun } from '../session/session';

const SVG = 'http://www.w3.org/2000/svg';

/** A bar for each cell that ran in this time; nothing if there was none. */
export function drawCells(
  cells: ReadonlyArray<ICellRun>,
  nowS: number,
  widthS: number
): HTMLElement | null {
  const shown = cells.filter(cell => (cell.ended_s ?? nowS) >= nowS - widthS);
  if (shown.length === 0) {
    return null;
  }
  const figure = document.createElement('figure');
  figure.className = 'dsp-cells';
  const caption = document.createElement('figcaption');
  const [label, last] = [document.createElement('span'), document.createElement('b')];
  const newest = shown[shown.length - 1];
  label.textContent = 'Cells';
  last.textContent = `${newest.ended_s === null ? 'running: ' : ''}[${newest.number}] ${newest.title}`;
  caption.append(label, last);
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${widthS} 10`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `Cells that ran: ${shown.map(nameOf).join('; ')}`);
  for (const cell of shown) {
    const bar = document.createElementNS(SVG, 'rect');
    const from = Math.max(0, widthS - (nowS - cell.began_s));
    const to = Math.min(widthS, widthS - (nowS - (cell.ended_s ?? nowS)));
    bar.setAttribute('x', from.toFixed(1));
    // Short ones are to be seen, too.
    bar.setAttribute('width', Math.max(widthS / 150, to - from).toFixed(1));
    bar.setAttribute('height', '10');
    bar.setAttribute('fill', 'currentColor');
    const title = document.createElementNS(SVG, 'title');
    title.textContent = nameOf(cell);
    bar.append(title);
    svg.append(bar);
  }
  figure.append(caption, svg);
  return figure;
}

function nameOf(cell: ICellRun): string {
  const began = new Date(cell.began_s * 1000).toLocaleTimeString();
  const took =
    cell.ended_s === null ? 'still running' : `${Math.round(cell.ended_s - cell.began_s)} s`;
  return `[${cell.number}] ${cell.title}, from ${began}, ${took}`;
}
