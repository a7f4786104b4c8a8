import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { entryOf, failure } from "@sallyport/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import fastify from "fastify";
import type { Guard } from "../guard/index.ts";
import type { Method, Route } from "../route.ts";
import { Answering } from "./answering.ts";
import { Connections } from "./connections.ts";
import type { DoorLog } from "./door-log.ts";
import { type DoorSettings, FIXED_BOUNDS } from "./door-settings.ts";
import { type Arrival, Entrance } from "./entrance.ts";
import type { Exchange } from "./exchange.ts";
import { failureOf, malformed } from "./failure-of.ts";
import { takeJsonOnly } from "./json-body.ts";
import { KnownPaths, shadowedPaths } from "./known-paths.ts";
import { routerPath } from "./path-pattern.ts";
import { RequestIds } from "./request-id.ts";
import { Running } from "./running.ts";
import type { TlsPair } from "./tls-files.ts";
import { type DoorHooks, Watching } from "./watching.ts";
import { endWith, rawProblem, refuseWire, type WireRefusal } from "./wire-errors.ts";

export interface DoorOptions extends DoorHooks {
  routes: readonly Route[];
  settings: DoorSettings;
  guard: Guard;
  log: DoorLog;
}

/** A door that is ready to be opened. */
export interface BuiltDoor extends DoorParts {
  app: FastifyInstance;
  server: Server;
}

const MAX_PARAMETER_CHARS = 1_024;

/** Puts the door together from its routes. Rejects on a route no router takes. */
export async function buildDoor(options: DoorOptions, tls: TlsPair | undefined): Promise<BuiltDoor> {
  const parts = doorParts(options, tls);
  const app = makeApp(options, { parts, tls });
  takeJsonOnly(app);
  mountRoutes(app, options.routes, parts);
  await app.ready();
  const { server } = app;
  hearAll(server, { parts, tls: tls !== undefined });
  return { ...parts, app, server };
}

function makeApp(
  { settings }: DoorOptions,
  { parts, tls }: { parts: DoorParts; tls: TlsPair | undefined },
): FastifyInstance {
  const { connections, entrance, ids, noteWire } = parts;
  return fastify({
    serverFactory: (listener) => makeNodeServer(listener, { settings, connections, ...(tls && { tls }) }),
    bodyLimit: settings.bodyBytes,
    genReqId: ({ headers }) => ids.of(headers["x-request-id"]),
    // The entrance refuses while the door closes, as a problem like any other.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_CHARS },
    exposeHeadRoutes: false,
    frameworkErrors: (error, request, reply) =>
      entrance.reject(arrivalOf(request, reply), failureOf(error) ?? malformed("The URL cannot be read.")),
    clientErrorHandler: (error, socket) => {
      const refusal = refuseWire(error, socket, { connections, ids, tls: tls !== undefined });
      if (refusal) noteWire(refusal);
    },
  });
}

/** What Node would otherwise answer by itself, or not at all. */
function hearAll(server: Server, { parts, tls }: { parts: DoorParts; tls: boolean }): void {
  // The entrance says when to go on, once it knows that the body is wanted.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request, socket: Socket) => {
    const failed = failure("E3931", { message: "This server is no proxy.", details: { allow: "GET, POST" } });
    const refusal = { requestId: parts.ids.next(), failure: failed };
    parts.noteWire(refusal);
    endWith(socket, rawProblem(refusal, { tls }));
  });
}

/** The server below Fastify, with every bound it knows set. */
function makeNodeServer(
  listener: RequestListener,
  { settings, tls, connections }: { settings: DoorSettings; tls?: TlsPair; connections: Connections },
): Server {
  const options = serverOptions(settings);
  const server = tls
    ? createTlsServer(
        { ...options, ...tls, minVersion: "TLSv1.2", handshakeTimeout: settings.requestSeconds * 1_000 },
        listener,
      )
    : createServer(options, listener);
  server.maxConnections = settings.connections;
  // One more than allowed is let through: past its own bound Node refuses them or drops the rest unseen, by version.
  server.maxHeadersCount = FIXED_BOUNDS.headers + 1;
  server.maxRequestsPerSocket = FIXED_BOUNDS.requestsPerConnection;
  if (tls) server.on("connection", (socket) => connections.addHandshake(socket));
  server.on(tls ? "secureConnection" : "connection", (socket) => connections.add(socket));
  return server;
}

function serverOptions({ requestSeconds, idleSeconds, headerBytes }: DoorSettings): ServerOptions {
  const requestMs = requestSeconds * 1_000;
  return {
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    connectionsCheckingInterval: Math.min(1_000, Math.max(20, requestMs / 4)),
    keepAliveTimeout: idleSeconds * 1_000,
    maxHeaderSize: headerBytes,
    insecureHTTPParser: false,
    // The door looks at Host itself, and answers in its own words.
    requireHostHeader: false,
    noDelay: true,
  };
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set once the request is let in. */
    exchange: Exchange | null;
  }
}

/** Gives every route its place. Answers are written by the door's own parts; Fastify routes and reads bodies. */
function mountRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  { entrance, running }: Pick<DoorParts, "entrance" | "running">,
): void {
  app.decorateRequest("exchange", null);
  app.addHook("onRequest", (request, reply, done) => {
    if (request.is404) void entrance.enter(arrivalOf(request, reply), undefined);
    else done();
  });
  app.setErrorHandler((error, request, reply) => {
    const exchange = request.exchange ?? entrance.begin(arrivalOf(request, reply), undefined);
    running.unreadable(exchange, error);
  });
  for (const { path, method } of shadowedPaths(routes)) {
    app.route({
      method: withHead(method),
      url: routerPath(path),
      onRequest: (request, reply) => void entrance.enter(arrivalOf(request, reply), undefined),
      handler: () => undefined,
    });
  }
  for (const route of routes) {
    app.route({
      method: withHead(route.method),
      url: routerPath(route.path),
      onRequest(request, reply, done) {
        const goOn = (exchange: Exchange | undefined) => {
          if (!exchange) return;
          request.exchange = exchange;
          done();
        };
        const entered = entrance.enter(arrivalOf(request, reply), route);
        if (entered instanceof Promise) void entered.then(goOn);
        else goOn(entered);
      },
      handler(request) {
        // Fastify comes here by the hook above alone; whoever was not let in has no exchange and no answer.
        if (request.exchange) running.run(route, request.exchange, request);
      },
    });
  }
}

function withHead(method: Method): Method | ["GET", "HEAD"] {
  return method === "GET" ? ["GET", "HEAD"] : method;
}

/** A request in the entrance's words. */
function arrivalOf(request: FastifyRequest, reply: FastifyReply): Arrival {
  return { request: request.raw, response: reply.raw, requestId: request.id };
}

/** What a door is made of, below it nothing but the server. */
interface DoorParts {
  state: { isClosing: boolean };
  ids: RequestIds;
  connections: Connections;
  entrance: Entrance;
  running: Running;
  /** Puts a refusal on record that no exchange stands for. */
  noteWire(refusal: WireRefusal): void;
}

/** Puts the parts together. */
function doorParts(options: DoorOptions, tls: TlsPair | undefined): DoorParts {
  const { settings, log, routes, guard } = options;
  const state = { isClosing: false };
  const isClosing = () => state.isClosing;
  const watching = new Watching(options, log);
  const connections = new Connections((exchange) => {
    if (!exchange.response.writableFinished) exchange.abort("The client is gone.");
    watching.answer(exchange);
  });
  const stallMs = settings.idleSeconds * 1_000;
  const answering = new Answering({ tls: tls !== undefined, log, stallMs, isClosing });
  const paths = new KnownPaths(routes);
  const entrance = new Entrance({ settings, guard, paths, connections, answering, watching, isClosing });
  const running = new Running({ guard, answering, log, settings });
  const noteWire = ({ requestId, failure }: WireRefusal) =>
    watching.wire({ requestId, code: failure.code, status: entryOf(failure).http });
  return { state, ids: new RequestIds(), connections, entrance, running, noteWire };
}
