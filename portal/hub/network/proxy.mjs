// The proxy that users reach: configurable-http-proxy, and five things that it does not do.
//
// * A hub finds out that this proxy is a new one, without routes: GET /api/start.
// * A route may carry the certificate of the session that it leads to ("certificate", PEM, another
//   one for each start of a server). Then only the holder of its key gets a byte of a request.
// * An answer whose server is gone before its end, such as a download in a session that ends, is cut
//   off. http-proxy-3 1.23 leaves the browser waiting for the rest.
// * While the hub is away, which makes all other pages, there is a sentence for people and programs.
// * Several processes share the traffic: proxy_workers.mjs.
//
// Its options are those of configurable-http-proxy of the same name.

import cluster from "node:cluster";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import path from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";

import { Workers, work } from "./proxy_workers.mjs";

const NAMES = [
  "configurable-http-proxy", // folder of that package
  "ip",
  "port",
  "api-ip",
  "api-port",
  "default-target",
  "error-target",
  "sessions-ip", // where sessions reach the hub, by TLS
  "sessions-port",
  "hub-prefix", // path of the hub below both, with a slash at both ends
  "identity", // file with key and certificate, shown to sessions in both directions
  "workers", // processes for the traffic
];
const FIRST_BYTE_TIMEOUT_MS = 30_000;
const MOST_OF_SESSIONS = 8192;
const LISTEN_AGAIN_MS = 1_000;
const TLS_HANDSHAKE = 0x16;
const AWAY =
  "The portal does not answer at the moment. Open notebooks and jobs continue. Try again in a " +
  "minute. If that does not help, tell the administrators.";
const AWAY_PAGE =
  '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" ' +
  `content="width=device-width"><title>Not available now</title><h1>Not available now</h1><p>${AWAY}`;
const FOR_SESSIONS = /^(api(\/.*)?|metrics|health)$/; // below the hub's prefix

const { values: options } = parseArgs({
  options: {
    ...Object.fromEntries(NAMES.map((name) => [name, { type: "string" }])),
    "host-routing": { type: "boolean", default: false }, // a host name for each user
  },
});
const library = (file) =>
  import(pathToFileURL(path.join(options["configurable-http-proxy"], "lib", file)));
const { ConfigurableProxy } = await library("configproxy.js");
const { defaultLogger } = await library("log.js");

class SessionProxy extends ConfigurableProxy {
  start = crypto.randomUUID();
  agents = new Map();
  workers = undefined; // of the first of several processes
  used = undefined; // of a worker: routes since its last report

  constructor(options, tls) {
    super(options);
    this.tls = tls;
    this.proxy.on("proxyRes", (answer, _req, res) => {
      answer.once("close", () => {
        if (!answer.complete) res.destroy();
      });
    });
  }

  _handleProxyErrorDefault(code, kind, req, res) {
    if (res.headersSent || !res.writeHead) {
      return super._handleProxyErrorDefault(code, kind, req, res);
    }
    const isPage = String(req.headers.accept).includes("text/html");
    res.writeHead(code, {
      "Content-Type": isPage ? "text/html; charset=utf-8" : "application/json",
      "Content-Security-Policy": "default-src 'none'; frame-ancestors 'self'",
    });
    res.end(isPage ? AWAY_PAGE : JSON.stringify({ message: AWAY }));
  }

  handleApiRequest(req, res) {
    if (new URL(req.url, "https://example.com").pathname !== "/api/start") {
      return super.handleApiRequest(req, res);
    }
    const isHub = req.headers.authorization === `token ${this.authToken}`;
    res.writeHead(isHub ? 200 : 403, { "Content-Type": "application/json" });
    const workers = this.workers?.serving.size ?? 1;
    res.end(isHub ? JSON.stringify({ start: this.start, workers }) : "");
  }

  postRoutes(req, res, path, data) {
    const problem = findProblem(data);
    if (!problem) return super.postRoutes(req, res, path, data);
    this.log.error("Route %s is refused: %s", path, problem);
    res.writeHead(400);
    res.end(problem);
  }

  async addRoute(path, data) {
    if (data.certificate) {
      const pin = fingerprint(data.certificate);
      if (!this.agents.has(pin)) this.agents.set(pin, this.makeAgent(data.certificate, pin));
    }
    const before = await this._routes.get(this._routes.cleanPath(path));
    await super.addRoute(path, data);
    this.forget(before, data);
    await this.workers?.tell([[path, data]]);
  }

  async removeRoute(path) {
    const before = await this._routes.get(path);
    await super.removeRoute(path);
    this.forget(before);
    await this.workers?.tell([[path, null]]);
  }

  updateLastActivity(path) {
    return this.used ? this.used.add(path) : super.updateLastActivity(path);
  }

  forget(before, after) {
    if (before?.certificate && before.certificate !== after?.certificate) {
      this.agents.delete(fingerprint(before.certificate));
    }
  }

  makeAgent(certificate, pin) {
    return new https.Agent({
      keepAlive: true,
      // Each connection proves again who is at the other end.
      maxCachedSessions: 0,
      minVersion: "TLSv1.2",
      ...this.tls,
      ca: [certificate],
      // Asked before anything is written.
      checkServerIdentity: (_host, peer) =>
        peer.fingerprint256 === pin ? undefined : new Error("This is not the session's server"),
    });
  }

  async targetForReq(req) {
    const match = await this.findTarget(req);
    const route = match && (await this._routes.get(match.prefix));
    if (!route?.certificate) return match;
    // In the fragment, which is never sent: proxyOptsForTarget gets nothing but the target.
    return { ...match, target: `${match.target}#${fingerprint(route.certificate)}` };
  }

  async findTarget(req) {
    try {
      return await super.targetForReq(req);
    } catch (error) {
      // What is no address, such as /%ff, leads nowhere.
      if (error instanceof URIError || error.code === "ERR_INVALID_URL") return undefined;
      throw error;
    }
  }

  proxyOptsForTarget(target) {
    if (!target.protocol.startsWith("https")) return super.proxyOptsForTarget(target);
    const agent = this.agents.get(decodeURIComponent(target.hash.slice(1)));
    if (!agent) throw new Error("The session of this route has ended");
    target.hash = "";
    return { target, secure: true, agent };
  }
}

function fingerprint(certificate) {
  return new crypto.X509Certificate(certificate).fingerprint256;
}

function findProblem({ target, certificate }) {
  const isTls = String(target).startsWith("https:");
  if (isTls !== Boolean(certificate)) {
    return "A target with https needs the session's certificate, and no other has one.";
  }
  try {
    if (certificate) fingerprint(certificate);
  } catch (error) {
    return `The certificate cannot be read: ${error.message}`;
  }
  return "";
}

// Sessions reach the hub by TLS, and by plain HTTP those that started before it was switched on.
function listenForSessions(proxy, target, tls) {
  const answer = (req, res) => {
    const { pathname } = new URL(req.url, "http://example.com");
    const prefix = options["hub-prefix"];
    if (!pathname.startsWith(prefix) || !FOR_SESSIONS.test(pathname.slice(prefix.length))) {
      res.writeHead(404);
      res.end("This address is for sessions. Users open the portal's own address.");
      return;
    }
    proxy.proxy.web(req, res, { target, agent: proxy.httpAgent, secure: false }, (error) => {
      proxy.log.warn("The hub did not answer a session: %s", error.message);
      if (!res.headersSent) res.writeHead(503);
      res.end();
    });
  };
  const plain = http.createServer(answer);
  const secure = https.createServer({ ...tls, minVersion: "TLSv1.2" }, answer);
  const server = net.createServer((socket) => {
    const close = () => socket.destroy();
    socket.once("error", close);
    socket.setTimeout(FIRST_BYTE_TIMEOUT_MS, close);
    socket.once("readable", () => {
      const first = socket.read(1);
      if (first === null) return close();
      socket.off("error", close);
      socket.off("timeout", close);
      socket.setTimeout(0);
      socket.unshift(first);
      (first[0] === TLS_HANDSHAKE ? secure : plain).emit("connection", socket);
    });
  });
  // What nodes open here must not use up what users' browsers need.
  server.maxConnections = Math.ceil(MOST_OF_SESSIONS / nWorkers);
  server.dropMaxConnection = true;
  const listen = () => server.listen(Number(options["sessions-port"]), options["sessions-ip"]);
  // A hub without internal TLS listens there itself until it is started again.
  server.on("error", (error) => {
    proxy.log.error("Sessions do not reach the hub yet: %s", error.message);
    setTimeout(listen, LISTEN_AGAIN_MS);
  });
  listen();
}

const nWorkers = Number(options.workers ?? 1);
// The first process has already told of each route.
const log = defaultLogger({ level: cluster.isWorker ? "warn" : "info" });
const identity = options.identity && fs.readFileSync(options.identity);
const tls = identity && { key: identity, cert: identity };
const authToken = process.env.CONFIGPROXY_AUTH_TOKEN;
if (!authToken) {
  log.error("CONFIGPROXY_AUTH_TOKEN is not set: whoever reaches the API could change the routes.");
  process.exit(1);
}
const defaultTarget = options["default-target"];
const proxy = new SessionProxy(
  {
    log,
    authToken,
    defaultTarget,
    errorTarget: options["error-target"],
    hostRouting: options["host-routing"],
    headers: {},
    xfwd: true,
  },
  tls,
);
const listen = () => {
  proxy.proxyServer.listen(Number(options.port), options.ip);
  if (options["sessions-port"]) listenForSessions(proxy, defaultTarget, tls);
};
if (cluster.isWorker) {
  work(proxy, listen);
} else {
  proxy.apiServer.listen(Number(options["api-port"]), options["api-ip"]);
  if (nWorkers > 1) proxy.workers = new Workers(nWorkers, proxy);
  else listen();
  log.info("Proxying http://%s:%s to %s", options.ip, options.port, defaultTarget);
}

// Workers end with the first process.
const end = () => cluster.isPrimary && process.exit(2);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, end);
// One request that goes wrong must not end everybody's connections; a port that is taken must.
process.on("uncaughtException", (error) => {
  log.error("Uncaught exception: %s", error.stack ?? error.message);
  if (["listen", "bind"].includes(error.syscall)) process.exit(1);
});
