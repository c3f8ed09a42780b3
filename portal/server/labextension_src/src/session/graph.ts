const SVG = 'http://www.w3.org/2000/svg';

/** A value at a time; no value is a gap. */
export interface IPoint {
  /** Seconds before now, negative. */
  readonly x: number;
  readonly y: number | null;
}

export interface IPeriod {
  readonly widthS: number;
  /** In words, such as "over the last 15 minutes". */
  readonly period: string;
}

/** A line over time below its name and its value now. */
export function drawGraph(
  name: string,
  value: string,
  points: ReadonlyArray<IPoint>,
  most: number,
  { widthS, period }: IPeriod
): HTMLElement {
  const figure = document.createElement('figure');
  const caption = document.createElement('figcaption');
  const [label, now] = [document.createElement('span'), document.createElement('b')];
  label.textContent = name;
  now.textContent = value;
  caption.append(label, now);
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${widthS} 100`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `${name} ${period}, now ${value}`);
  for (const part of parts(points)) {
    const line = document.createElementNS(SVG, 'polyline');
    const xy = part.map(point => [
      (point.x + widthS).toFixed(1),
      (98 - 96 * Math.min(1, (point.y as number) / most)).toFixed(1)
    ]);
    line.setAttribute('points', xy.map(pair => pair.join(',')).join(' '));
    line.setAttribute('fill', 'none');
    line.setAttribute('stroke', 'currentColor');
    line.setAttribute('stroke-width', '1.5');
    line.setAttribute('vector-effect', 'non-scaling-stroke');
    svg.append(line);
  }
  figure.append(caption, svg);
  return figure;
}

function parts(points: ReadonlyArray<IPoint>): IPoint[][] {
  const found: IPoint[][] = [[]];
  for (const point of points) {
    if (point.y === null) {
      found.push([]);
    } else {
      found[found.length - 1].push(point);
    }
  }
  return found.filter(part => part.length > 0);
}
