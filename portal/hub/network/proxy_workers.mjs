// More than one process for the proxy's traffic: Node's cluster.
//
// The first process listens, and hands each new connection to the next worker. Every worker has all
// routes and can serve every user. The API stays with the first process: it keeps the routes, gives
// them to the workers, and starts another worker in place of one that ended.

import cluster from "node:cluster";
import { on } from "node:events";

const AGAIN_MS = 1_000;
const REPORT_MS = 1_000;
const ANSWER_TIMEOUT_MS = 10_000;

export class Workers {
  nTold = 0;
  // Of each worker that has the routes: what to do when it has taken up a change, by its number.
  serving = new Map();

  constructor(nWorkers, proxy) {
    this.proxy = proxy;
    cluster.on("message", (worker, message) => this.receive(worker, message));
    cluster.on("exit", (worker, code, signal) => this.replace(worker, code, signal));
    for (let n = 0; n < nWorkers; n++) cluster.fork();
  }

  // Resolves when no worker leads a request by the old routes any more.
  tell(routes) {
    return Promise.all([...this.serving.keys()].map((worker) => this.tellOne(worker, routes)));
  }

  tellOne(worker, routes) {
    const number = ++this.nTold;
    return new Promise((resolve) => {
      // Starts and ends of sessions wait for the answer.
      const kill = () => worker.process.kill("SIGKILL");
      const timer = setTimeout(kill, ANSWER_TIMEOUT_MS);
      this.serving.get(worker).set(number, () => resolve(clearTimeout(timer)));
      // An error means that it has ended, which is noticed by its exit.
      worker.send({ number, routes }, () => {});
    });
  }

  async receive(worker, { isReady, done, used }) {
    if (isReady && !worker.isDead()) {
      const routes = await this.proxy._routes.getAll();
      this.serving.set(worker, new Map());
      this.tellOne(worker, Object.entries(routes));
    }
    const waiting = this.serving.get(worker);
    waiting?.get(done)?.();
    waiting?.delete(done);
    for (const path of used ?? []) this.proxy.updateLastActivity(path);
  }

  replace(worker, code, signal) {
    for (const resolve of this.serving.get(worker)?.values() ?? []) resolve();
    this.serving.delete(worker);
    // It cannot listen.
    if (code === 1) process.exit(1);
    this.proxy.log.error("Worker %s ended by %s, with its connections", worker.id, signal ?? code);
    setTimeout(() => cluster.fork(), AGAIN_MS);
  }
}

// Takes the routes, listens, and then tells the first process which of them are used.
export async function work(proxy, listen) {
  const messages = on(process, "message");
  process.send({ isReady: true });
  for await (const [{ number, routes }] of messages) {
    for (const [path, route] of routes) {
      await (route ? proxy.addRoute(path, route) : proxy.removeRoute(path));
    }
    if (!proxy.used) {
      proxy.used = new Set();
      setInterval(report, REPORT_MS, proxy.used);
      listen();
    }
    process.send({ done: number });
  }
}

function report(used) {
  if (used.size) process.send({ used: [...used] });
  used.clear();
}
