import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CHUNK_BYTES, ITransport, IWatcher, mayPass, sendFile } from '../src/files/chunks';

/** A server that loses the connection at given requests. */
class Server implements ITransport {
  received: Blob[] = [];
  nRequests = 0;

  constructor(
    private readonly fails: (n: number) => Error | null,
    private readonly isLostAfter = false
  ) {}

  get size(): number {
    return this.received.reduce((sum, part) => sum + part.size, 0);
  }

  offset(): Promise<number> {
    return Promise.resolve(this.size);
  }

  async send(offset: number, chunk: Blob): Promise<number> {
    assert.equal(offset, this.size);
    this.nRequests += 1;
    const error = this.fails(this.nRequests);
    if (error && !this.isLostAfter) {
      throw error;
    }
    this.received.push(chunk);
    if (error) {
      throw error;
    }
    return Promise.resolve(this.size);
  }
}

class Watcher implements IWatcher {
  waits: number[] = [];
  sent: number[] = [];
  isStopped = false;

  progress(sent: number): void {
    this.sent.push(sent);
  }

  lost(): void {}

  wait(ms: number): Promise<void> {
    this.waits.push(ms);
    return Promise.resolve();
  }

  isCancelled(): boolean {
    return this.isStopped;
  }
}

const file = new Blob([new Uint8Array(CHUNK_BYTES), 'b'.repeat(CHUNK_BYTES), 'the end']);
const lost = new TypeError('Failed to fetch');

async function textOf(server: Server): Promise<string> {
  return new Blob(server.received).text();
}

void test('a file arrives in chunks', async () => {
  const [server, watcher] = [new Server(() => null), new Watcher()];

  assert.equal(await sendFile(file, server, watcher), true);

  assert.equal(server.nRequests, 3);
  assert.equal(await textOf(server), await file.text());
  assert.deepEqual(watcher.sent, [0, CHUNK_BYTES, 2 * CHUNK_BYTES, file.size]);
});

void test('what has arrived is not sent again', async () => {
  const [server, watcher] = [new Server(() => null), new Watcher()];
  server.received.push(file.slice(0, CHUNK_BYTES + 1));

  await sendFile(file, server, watcher);

  assert.equal(await textOf(server), await file.text());
  assert.equal(watcher.sent[0], CHUNK_BYTES + 1);
});

for (const isLostAfter of [false, true]) {
  void test(`a connection lost ${isLostAfter ? 'after' : 'before'} a chunk arrived`, async () => {
    const server = new Server(n => ([2, 3, 4].includes(n) ? lost : null), isLostAfter);
    const watcher = new Watcher();

    await sendFile(file, server, watcher);

    assert.equal(await textOf(server), await file.text());
    assert.deepEqual(watcher.waits.slice(0, 2), [1000, 2000]);
  });
}

void test('a refusal ends the upload', async () => {
  const full = Object.assign(new Error('full'), { response: { status: 507 } });
  await assert.rejects(sendFile(file, new Server(() => full), new Watcher()), /full/);
  assert.equal(mayPass(full), false);
  assert.equal(mayPass(Object.assign(new Error('x'), { response: { status: 503 } })), true);
});

void test('a page of the hub, which answers for a proxy without routes, is no refusal', async () => {
  const refusal = (type: string) => {
    const headers = new Headers({ 'Content-Type': type });
    return Object.assign(new Error('403'), { response: { status: 403, headers } });
  };
  const server = new Server(n => (n === 2 ? refusal('text/html') : null));

  assert.equal(await sendFile(file, server, new Watcher()), true);

  assert.equal(await textOf(server), await file.text());
  const refused = sendFile(file, new Server(() => refusal('application/json')), new Watcher());
  await assert.rejects(refused, /403/);
});

void test('a file whose last answer is lost has arrived, and is not sent again', async () => {
  class Local extends Server {
    // With its last byte the file gets its name, and nothing is left of the upload.
    offset(): Promise<number> {
      return Promise.resolve(this.size === file.size ? 0 : this.size);
    }
  }
  const server = new Local(n => (n === 3 ? lost : null), true);

  assert.equal(await sendFile(file, server, new Watcher()), true);

  assert.equal(server.nRequests, 3);
});

void test('a cancelled upload sends no more', async () => {
  const watcher = new Watcher();
  const server = new Server(() => {
    watcher.isStopped = true;
    return null;
  });

  assert.equal(await sendFile(file, server, watcher), false);
  assert.equal(server.nRequests, 1);
});
