import type { IncomingMessage } from "node:http";
import { FIXED_BOUNDS } from "./door-settings.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Ends an answer whose head is written. To a request of which not all has come the answer is sent, and ended only when the
 * rest was read: a connection that is cut while its sender still writes takes the answer with it, and an answer that says
 * `connection: close` cuts it at its end. A sender that stops in time keeps its connection; another is cut off.
 */
export function endAnswer({ request, response }: Exchange, payload: string | undefined): void {
  if (request.complete || !announcesBody(request)) {
    response.end(payload);
    return;
  }
  if (payload === undefined) response.flushHeaders();
  else response.write(payload);
  // Node holds it back for a turn, and the rest of the request may be such that the connection does not live that long.
  request.socket.uncork();
  let left: number = FIXED_BOUNDS.lingerBytes;
  const cut = () => {
    response.end();
    request.socket.destroySoon();
  };
  const timer = setTimeout(cut, FIXED_BOUNDS.lingerMs);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  request.once("close", () => {
    clearTimeout(timer);
    response.end();
  });
  request.resume();
}

/** Without a body a request may be answered before the parser has said that it is whole. */
function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}
