const MINUTE_S = 60;
/** From here on a countdown shows seconds. */
const SHOWS_SECONDS_S = 5 * MINUTE_S;

/** "1 core", "2 cores". */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** A length of time as text: "30 minutes", "1 hour", "1 hour 30 minutes". */
export function formatDuration(seconds: number): string {
  if (seconds < MINUTE_S) {
    return count(Math.floor(seconds), 'second');
  }
  const minutes = Math.round(seconds / MINUTE_S);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  const parts = [hours > 0 ? count(hours, 'hour') : '', rest > 0 ? count(rest, 'minute') : ''];
  return parts.filter(part => part).join(' ');
}

/** Time left, short enough for a status bar: "7 h 59 min", "7 h", "12 min", "4:05 min". */
export function formatCountdown(leftS: number): string {
  const minutes = Math.floor(leftS / MINUTE_S);
  if (leftS < SHOWS_SECONDS_S) {
    return `${minutes}:${String(Math.floor(leftS % MINUTE_S)).padStart(2, '0')} min`;
  }
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours > 0 ? `${hours} h` : '', rest > 0 ? `${rest} min` : '']
    .filter(part => part)
    .join(' ');
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A number of bytes as text: "12 bytes", "4.0 MiB". */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? count(bytes, 'byte') : `${value.toFixed(1)} ${UNITS[unit]}`;
}
