import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Method, Route } from "../route.ts";
import type { DoorParts } from "./door-parts.ts";
import type { Arrival } from "./entrance.ts";
import type { Exchange } from "./exchange.ts";
import { shadowedPaths } from "./known-paths.ts";
import { routerPath } from "./path-pattern.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set once the request is let in. */
    exchange: Exchange | null;
  }
}

/** Gives every route its place. Answers are written by the door's own parts; Fastify routes and reads bodies. */
export function mountRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  { entrance, running }: Pick<DoorParts, "entrance" | "running">,
): void {
  app.decorateRequest("exchange", null);
  app.addHook("onRequest", (request, reply, done) => {
    if (request.is404) entrance.enter(arrivalOf(request, reply), undefined);
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
        const exchange = entrance.enter(arrivalOf(request, reply), route);
        if (!exchange) return;
        request.exchange = exchange;
        done();
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
export function arrivalOf(request: FastifyRequest, reply: FastifyReply): Arrival {
  return { request: request.raw, response: reply.raw, requestId: request.id };
}
