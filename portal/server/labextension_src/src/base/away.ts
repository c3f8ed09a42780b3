const FORBIDDEN = 403;
const NOT_FOUND = 404;
/** 424 is the hub's, of a session that does not run or that a new proxy does not know yet. */
const STATUSES = [424, 429, 502, 503, 504];

interface IAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
}

/** Whether a proxy or the hub answered in the place of the session. */
export function isAway({ status, headers }: IAnswer): boolean {
  if (status === FORBIDDEN || status === NOT_FOUND) {
    // Those of the session are JSON; a proxy that was started again leads to pages of the hub.
    return !(headers.get('Content-Type') ?? '').includes('json');
  }
  return STATUSES.includes(status);
}
