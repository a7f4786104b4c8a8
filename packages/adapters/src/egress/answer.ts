import { type IncomingMessage, ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Denial } from "./denial.ts";
import { headerLines } from "./headers.ts";

/** Tells the client of one request why it went no further. */
export function answerDenial(res: ServerResponse, denial: Denial): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  if (denial.status === 400) res.shouldKeepAlive = false;
  const body = textOf(denial);
  res.writeHead(denial.status, headersOf(denial, body)).end(body);
}

/** The same on a connection that Node's server has let go of; then the connection ends. */
export function answerAndClose(socket: Duplex, denial: Denial): void {
  const body = textOf(denial);
  const head = `HTTP/1.1 ${denial.status} ${STATUS_CODES[denial.status] ?? "Refused"}\r\n`;
  finish(socket, `${head}${headerLines([...headersOf(denial, body), "connection", "close"])}\r\n${body}`);
}

/** Sends the last bytes, then closes whatever the other side does. */
export function finish(socket: Duplex, last: string | Uint8Array): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(last, () => socket.destroy());
}

/** An ordinary answer on a connection that was let go of for an upgrade nobody made. */
export function responseOn(socket: Duplex, req: IncomingMessage): ServerResponse {
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket as Socket);
  res.once("finish", () => finish(socket, ""));
  return res;
}

function headersOf({ failure }: Denial, body: string): string[] {
  return [
    "content-type",
    "text/plain; charset=utf-8",
    "content-length",
    String(Buffer.byteLength(body)),
    "x-sallyport-code",
    failure.code,
  ];
}

function textOf({ failure }: Denial): string {
  return `${failure.code}: ${failure.message} ${failure.advice}\n`;
}
