// Behind nginx requests of the session may have 512 MiB, but a lost one is sent again.
export const CHUNK_BYTES = 4 * 1024 * 1024;
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
  watcher: IWatcher
): Promise<boolean> {
  let sent: number | null = null;
  let waitMs = FIRST_WAIT_MS;
  while (!watcher.isCancelled()) {
    try {
      sent ??= await transport.offset();
      watcher.progress(sent);
      const chunk = file.slice(sent, sent + CHUNK_BYTES);
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

/** Whether the next try may succeed: nothing answered, a proxy did, or other bytes were expected. */
export function mayPass(error: unknown): boolean {
  const status = (error as { response?: { status?: unknown } }).response?.status;
  return typeof status !== 'number' || [408, 409, 424, 429, 500, 502, 503, 504].includes(status);
}
