import type { Server } from "node:http";
import type { Socket } from "node:net";
import { failure } from "@sallyport/protocol";
import fastify, { type FastifyInstance } from "fastify";
import { type DoorParts, doorParts } from "./door-parts.ts";
import { failureOf, malformed } from "./failure-of.ts";
import { takeJsonOnly } from "./json-body.ts";
import { arrivalOf, mountRoutes } from "./mount-routes.ts";
import { makeNodeServer } from "./node-server.ts";
import type { DoorOptions } from "./open-door.ts";
import type { TlsPair } from "./tls-files.ts";
import { endWith, rawProblem, refuseWire } from "./wire-errors.ts";

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
