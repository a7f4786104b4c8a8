import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type Failure, failure } from "@sallyport/protocol";
import type { Connections } from "./connections.ts";
import { FIXED_BOUNDS } from "./door-settings.ts";
import { bodyTooLarge, codeOf, malformed } from "./failure-of.ts";
import { PROBLEM_TYPE, problemOf, requestUrn } from "./problem.ts";
import type { RequestIds } from "./request-id.ts";
import { securityHeaders } from "./security-headers.ts";

/** What was answered to something that never became a request. */
export interface WireRefusal {
  requestId: string;
  failure: Failure;
}

/**
 * Answers what the parser gave up on, in the same words as any other refusal, and lets the connection go. Where an
 * earlier request of the connection still waits, its client would take this for its answer: then there is none. What it
 * gives back is only of requests that never began; of others their exchange tells.
 */
export function refuseWire(
  error: Error,
  socket: Socket,
  { connections, ids, tls }: { connections: Connections; ids: RequestIds; tls: boolean },
): WireRefusal | undefined {
  const connection = connections.of(socket);
  if (connection?.isCondemned) return undefined;
  if (!connection?.awaitsAnswer || codeOf(error) === "ECONNRESET") {
    socket.destroy();
    return undefined;
  }
  connection.isCondemned = true;
  const [begun] = connection.open;
  const refusal = { requestId: begun?.requestId ?? ids.next(), failure: wireFailure(error) };
  endWith(socket, rawProblem(refusal, { tls }));
  if (!begun) return refusal;
  begun.refusedOnWire(refusal.failure);
  return undefined;
}

/** Says it, then stops listening soon: cut at once, the connection would take the answer with it. */
export function endWith(socket: Socket, text: string): void {
  const timer = setTimeout(() => socket.destroy(), FIXED_BOUNDS.lingerMs);
  socket.once("close", () => clearTimeout(timer));
  socket.once("error", () => socket.destroy());
  socket.end(text);
}

/** A problem as it stands on the wire, for where there is no response to write it with. */
export function rawProblem({ requestId, failure: failed }: WireRefusal, { tls }: { tls: boolean }): string {
  const problem = problemOf(failed, { instance: requestUrn(requestId) });
  const body = JSON.stringify(problem);
  const headers = {
    ...securityHeaders({ tls }),
    "content-type": PROBLEM_TYPE,
    "content-length": String(Buffer.byteLength(body)),
    "x-request-id": requestId,
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const start = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ""}`;
  return `${[start, ...lines].join("\r\n")}\r\n\r\n${body}`;
}

function wireFailure(error: Error): Failure {
  switch (codeOf(error)) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return failure("E3933");
    case "HPE_HEADER_OVERFLOW":
      return failure(hasLongTarget(error) ? "E3934" : "E3935");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return bodyTooLarge();
    default:
      return malformed(`This is not HTTP as it has to be${reasonOf(error)}.`);
  }
}

/** Whether it was the first line that did not end. */
function hasLongTarget(error: Error): boolean {
  const packet = "rawPacket" in error ? error.rawPacket : undefined;
  if (!Buffer.isBuffer(packet)) return false;
  const end = packet.indexOf("\r\n");
  return /^[A-Z]+ /.test(packet.toString("latin1", 0, 16)) && (end === -1 || end > FIXED_BOUNDS.urlChars);
}

/** The parser's own word for it, which never quotes what was sent. */
function reasonOf(error: Error): string {
  const reason = "reason" in error ? error.reason : undefined;
  return typeof reason === "string" && /^[\w './:-]{1,120}$/.test(reason) ? `: ${reason}` : "";
}
