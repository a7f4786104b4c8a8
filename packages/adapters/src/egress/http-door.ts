import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Duplex } from "node:stream";
import { answerAndClose, responseOn } from "./answer.ts";
import { type Denial, isDenial, malformed } from "./denial.ts";
import { beginRequest, forward, relay, unanswered } from "./forward.ts";
import { endToEnd, headerLines, listed, valuesOf } from "./headers.ts";
import type { Lane } from "./lane.ts";
import type { EgressLimits } from "./options.ts";
import type { Parts } from "./parts.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { readConnect } from "./read-request.ts";
import type { Scrub } from "./scrub.ts";
import { goOn, joinTunnel, openWay } from "./tunnel.ts";

/** A request that wants to go on as something else, on the connection it came by. */
interface UpgradeOrder {
  req: IncomingMessage;
  socket: Duplex;
  /** What the client sent without waiting. */
  early: Buffer;
}

const SWITCH = ["connection", "Upgrade", "upgrade", "websocket"];

/** Only WebSockets: other protocols would carry further requests past every check. */
function wantsWebSocket({ rawHeaders, method }: Pick<IncomingMessage, "rawHeaders" | "method">): boolean {
  const protocols = valuesOf(rawHeaders, "upgrade").flatMap(listed);
  return method === "GET" && protocols.length === 1 && protocols[0] === "websocket";
}

/** Forwards a WebSocket's handshake by the rules of any request; once upstream agrees, the bytes flow. */
async function upgrade(parts: Parts, lane: Lane, order: UpgradeOrder): Promise<void> {
  const prepared = await prepareSwitch(parts, lane, order.req);
  if (lane.socket.destroyed) return;
  if (isDenial(prepared)) {
    parts.refusals.record(prepared);
    answerAndClose(order.socket, prepared);
  } else sendSwitch(parts, { ...order, prepared });
}

async function prepareSwitch(parts: Parts, lane: Lane, req: IncomingMessage): Promise<Prepared | Denial> {
  if (!wantsWebSocket(req)) return malformed("Only WebSockets can be upgraded to.", 501);
  const prepared = await prepare(parts, lane, req);
  if (isDenial(prepared)) return prepared;
  return prepared.hasBody ? malformed("An upgrade has no body.") : prepared;
}

function sendSwitch(
  parts: Parts,
  { req, socket, early, prepared }: UpgradeOrder & { prepared: Prepared },
): void {
  const headers = [...prepared.headers, ...SWITCH];
  const up = beginRequest(parts, { ...prepared, headers }, "GET");
  const giveUp = () => up.destroy();
  socket.once("close", giveUp);
  up.once("upgrade", (answer, upstream, first) => {
    socket.off("close", giveUp);
    const { scrub } = prepared;
    const head = switching(answer);
    socket.write(scrub?.text(head) ?? head, "latin1");
    if (early.length > 0) socket.unshift(early);
    if (first.length > 0) upstream.unshift(first);
    joinTunnel(parts, { client: socket, upstream: scrub ? scrubbed(upstream, scrub) : upstream });
  });
  up.once("response", (answer) => relay(parts, { answer, res: responseOn(socket, req), prepared }));
  up.once("error", ({ code }: NodeJS.ErrnoException) => answerAndClose(socket, unanswered(prepared, code)));
  up.end();
}

/** Frames from upstream are plain and keep their length; only a secret cut by a frame's head is missed. */
function scrubbed(upstream: Duplex, scrub: Scrub): Duplex {
  const both = Duplex.from({ readable: upstream.pipe(scrub.stream()), writable: upstream });
  return both.on("error", () => undefined);
}

function switching({ statusMessage, rawHeaders }: IncomingMessage): string {
  const headers = [...endToEnd(rawHeaders, []), ...SWITCH];
  return `HTTP/1.1 101 ${statusMessage || "Switching Protocols"}\r\n${headerLines(headers)}\r\n`;
}

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
