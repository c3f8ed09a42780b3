// Behind nginx requests of the session may have 512 MiB, but a lost one is sent again.
export const CHUNK_BYTES = 4 * 1024 * 1024;
// A connection that is lost may not say so.
const LONGEST_QUESTION_MS = 30_000;
const FORBIDDEN = 403;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Where the chunks go. Its errors have a `response` if the server answered. */
export interface ITransport {
  /** How many bytes have arrived. */
  offset(): Promise<number>;
  /** Send bytes; returns how many have arrived now. */
  send(offset: number, chunk: Blob): Promise<number>;
}

export interface IWatcher {
  progress(sent: number): void;
  /** The connection is lost; it is tried again. */
  lost(): void;
  wait(ms: number): Promise<void>;
  isCancelled(): boolean;
}

/** Send a file from where an earlier upload of it ended; continues after a lost connection. */
export async function sendFile(
  file: Blob,
  transport: ITransport,
  watcher: IWatcher,
  chunkBytes = CHUNK_BYTES
): Promise<boolean> {
  let sent: number | null = null;
  let waitMs = FIRST_WAIT_MS;
  let isLastSent = false;
  while (!watcher.isCancelled()) {
    try {
      if (sent === null) {
        sent = await within(transport.offset(), LONGEST_QUESTION_MS);
        // All of it has arrived, and only the answer was lost: nothing is left of the upload.
        const isDone = isLastSent && sent === 0 && file.size > chunkBytes;
        if (isDone || (sent > 0 && sent >= file.size)) {
          watcher.progress(file.size);
          return true;
        }
      }
      watcher.progress(sent);
      const chunk = file.slice(sent, sent + chunkBytes);
      isLastSent = sent + chunk.size === file.size;
      sent = await transport.send(sent, chunk);
      waitMs = FIRST_WAIT_MS;
      if (sent >= file.size) {
        watcher.progress(sent);
        return true;
      }
    } catch (error) {
      if (!mayPass(error)) {
        throw error;
      }
      // The answer may have been lost after the bytes arrived.
      sent = null;
      watcher.lost();
      await watcher.wait(waitMs);
      waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs);
    }
  }
  return false;
}

/** The promise's value; an error if there is none in time. */
function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('No answer')), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

interface IAnswer {
  readonly status?: unknown;
  readonly headers?: { get(name: string): string | null };
}

/** Whether the next try may succeed: nothing answered, a proxy did, or other bytes were expected. */
export function mayPass(error: unknown): boolean {
  const answer = (error as { response?: IAnswer }).response;
  const status = answer?.status;
  if (status === FORBIDDEN) {
    // Until a proxy that was started again knows the session, the hub refuses with a page of its own.
    return !(answer?.headers?.get('Content-Type') ?? 'application/json').includes('json');
  }
  return typeof status !== 'number' || [408, 409, 424, 429, 500, 502, 503, 504].includes(status);
}
