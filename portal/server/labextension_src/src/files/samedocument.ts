/**
 * Whether the server has what was sent to it.
 *
 * It marks cells as trusted, and gives texts as one where lines were sent.
 */
export function isSameDocument(sent: unknown, found: unknown): boolean {
  return JSON.stringify(plain(sent)) === JSON.stringify(plain(found));
}

function plain(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    const mayBeLines = key === 'source' || key === 'text' || key.includes('/');
    const isLines = mayBeLines && value.every(line => typeof line === 'string');
    return isLines ? value.join('') : value.map(one => plain(one));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  const entries = Object.entries(value)
    .filter(([name]) => name !== 'trusted')
    .map(([name, one]) => [name, plain(one, name)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
