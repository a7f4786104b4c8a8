import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Connections } from "./connections.ts";
import { type DoorSettings, FIXED_BOUNDS } from "./door-settings.ts";
import type { TlsPair } from "./tls-files.ts";

/** The server below Fastify, with every bound it knows set. */
export function makeNodeServer(
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
