import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { answerAndClose } from "./answer.ts";
import { isDenial, malformed } from "./denial.ts";
import { forward } from "./forward.ts";
import type { Lane } from "./lane.ts";
import { goOn, openWay } from "./opening.ts";
import type { EgressLimits } from "./options.ts";
import type { Parts } from "./parts.ts";
import { readConnect } from "./read-request.ts";
import { upgrade, wantsWebSocket } from "./upgrade.ts";

const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";

/** Node's strict parser behind no port of its own: connections are handed to it. */
export function createHttpReader({ headerBytes, idleMs }: EgressLimits): Server {
  const server = createServer({
    insecureHTTPParser: false,
    requireHostHeader: true,
    maxHeaderSize: headerBytes,
    keepAliveTimeout: 0,
    shouldUpgradeCallback: wantsWebSocket,
  });
  server.timeout = idleMs;
  // No header may be dropped in silence: the size of the head is what bounds them.
  server.maxHeadersCount = 0;
  return server;
}

/** Lets what the parser reads go through the gate. */
export function openHttpDoor(parts: Parts): void {
  const { http, lanes } = parts;
  const laneOf = (socket: Duplex) => headOf(lanes.get(socket));
  http.on("request", (req, res) => serve(parts, laneOf(req.socket), { req, res }));
  http.on("connect", (req, socket, early) => {
    alone(laneOf(socket), (lane) => openTunnel(parts, lane, { req, socket, early }));
  });
  http.on("upgrade", (req, socket, early) => {
    alone(laneOf(socket), (lane) => upgrade(parts, lane, { req, socket, early }));
  });
  http.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const owed = [...(lanes.get(socket)?.owed ?? [])];
    // An answer that is under way cannot be followed by another that belongs to nothing.
    if (owed.some(({ headersSent }) => headersSent)) socket.destroy();
    else refuseUnread(error, socket);
  });
}

/** A head is complete: its deadline is off. */
function headOf(lane: Lane | undefined): Lane {
  if (!lane) throw new Error("a connection without a lane");
  lane.headCame();
  return lane;
}

function serve(parts: Parts, lane: Lane, exchange: { req: IncomingMessage; res: ServerResponse }): void {
  const { res } = exchange;
  lane.owed.add(res);
  res.once("close", () => lane.owed.delete(res));
  res.once("finish", () => lane.expectHead(parts.limits.headMs));
  lane.inTurn(() => forward(parts, lane, exchange));
}

/** What takes the whole connection cannot begin while answers are still owed on it. */
function alone(lane: Lane, work: (lane: Lane) => Promise<void>): void {
  if (lane.isBusy) lane.socket.destroy();
  else lane.inTurn(() => work(lane));
}

interface ConnectOrder {
  req: IncomingMessage;
  socket: Duplex;
  early: Buffer;
}

async function openTunnel(parts: Parts, lane: Lane, { req, socket, early }: ConnectOrder): Promise<void> {
  const to = lane.bound ? malformed("CONNECT cannot be nested.") : readConnect(req);
  const opening = isDenial(to) ? to : await openWay(parts, lane, to);
  if (isDenial(opening)) {
    parts.refusals.record(opening);
    answerAndClose(socket, opening);
    return;
  }
  socket.write(ESTABLISHED);
  goOn(parts, lane, { opening, early });
}

function refuseUnread(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const isTooLong = error.code === "HPE_HEADER_OVERFLOW" || error.code === "HPE_CHUNK_EXTENSIONS_OVERFLOW";
  const what = isTooLong ? "The request's head is too long." : "This is neither HTTP/1.1 nor SOCKS5.";
  answerAndClose(socket, malformed(`${what} (${error.code ?? "unreadable"})`, isTooLong ? 431 : 400));
}
