import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { answerAndClose, responseOn } from "./answer.ts";
import { type Denial, isDenial, malformed } from "./denial.ts";
import { beginRequest, relay, unanswered } from "./forward.ts";
import { endToEnd, headerLines, listed, valuesOf } from "./headers.ts";
import type { Lane } from "./lane.ts";
import type { Parts } from "./parts.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { joinTunnel } from "./tunnel.ts";

/** A request that wants to go on as something else, on the connection it came by. */
export interface UpgradeOrder {
  req: IncomingMessage;
  socket: Duplex;
  /** What the client sent without waiting. */
  early: Buffer;
}

const SWITCH = ["connection", "Upgrade", "upgrade", "websocket"];

/** Only WebSockets: other protocols would carry further requests past every check. */
export function wantsWebSocket({
  rawHeaders,
  method,
}: Pick<IncomingMessage, "rawHeaders" | "method">): boolean {
  const protocols = valuesOf(rawHeaders, "upgrade").flatMap(listed);
  return method === "GET" && protocols.length === 1 && protocols[0] === "websocket";
}

/** Forwards a WebSocket's handshake by the rules of any request; once upstream agrees, the bytes flow. */
export async function upgrade(parts: Parts, lane: Lane, order: UpgradeOrder): Promise<void> {
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
    socket.write(switching(answer), "latin1");
    if (early.length > 0) socket.unshift(early);
    if (first.length > 0) upstream.unshift(first);
    joinTunnel(parts, { client: socket, upstream });
  });
  up.once("response", (answer) => relay(parts, answer, responseOn(socket, req)));
  up.once("error", ({ code }: NodeJS.ErrnoException) => answerAndClose(socket, unanswered(prepared, code)));
  up.end();
}

function switching({ statusMessage, rawHeaders }: IncomingMessage): string {
  const headers = [...endToEnd(rawHeaders, []), ...SWITCH];
  return `HTTP/1.1 101 ${statusMessage || "Switching Protocols"}\r\n${headerLines(headers)}\r\n`;
}
