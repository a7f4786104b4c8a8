import type { IncomingMessage } from "node:http";
import { FIXED_BOUNDS } from "./door-settings.ts";
import type { Exchange } from "./exchange.ts";

/**
 * A request that was answered before all of it came: reads on for a little, because a connection that is cut while its
 * sender still writes takes the answer with it. A sender that stops in time keeps its connection; another is cut off.
 */
export function lingerOn({ request }: Exchange): void {
  if (request.complete || !announcesBody(request)) return;
  let left: number = FIXED_BOUNDS.lingerBytes;
  const cut = () => request.socket.destroy();
  const timer = setTimeout(cut, FIXED_BOUNDS.lingerMs);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  request.once("close", () => clearTimeout(timer));
  request.resume();
}

/** Without a body a request may be answered before the parser has said that it is whole. */
function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}
