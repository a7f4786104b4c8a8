import { connect, type Socket } from "node:net";
import { timerMs } from "@sallyport/engine/host";
import { type Denial, REPLY, unreached } from "./denial.ts";
import type { Destination } from "./destination.ts";
import type { Way } from "./gate.ts";
import type { Meter } from "./meter.ts";

/** An address to connect to, and nothing that would still have to be looked up. */
export interface DialOrder {
  address: string;
  port: number;
  /** Whether one direction may end before the other. */
  halfOpen: boolean;
}

/** Begins a connection; it reports through the socket's events. */
export type Dial = (order: DialOrder) => Socket;

/** Connects to the address as it is. */
export const dialAddress: Dial = ({ address, port, halfOpen }) =>
  connect({ host: address, port, allowHalfOpen: halfOpen, noDelay: true, autoSelectFamily: false });

/** What dialling needs besides the way. */
export interface Dialler {
  dial: Dial;
  connectMs: number;
  meter: Meter;
}

/** More addresses than this are not tried. */
const MOST_TRIES = 4;

/** Connects to the first checked address that answers. */
export async function dialWay(way: Way, dialler: Dialler, halfOpen: boolean): Promise<Socket | Denial> {
  let why = "ECONNREFUSED";
  for (const { address } of way.addresses.slice(0, MOST_TRIES)) {
    const upstream = dialler.dial({ address, port: way.to.port, halfOpen });
    dialler.meter.count(upstream);
    const tried = await settled(upstream, dialler.connectMs);
    if (tried === undefined) return upstream;
    why = tried;
  }
  return unconnected(way.to, why);
}

/** Undefined once connected, otherwise the error's code; then the socket is gone. */
function settled(upstream: Socket, connectMs: number): Promise<string | undefined> {
  return new Promise((done) => {
    const timer = setTimeout(() => end("ETIMEDOUT"), timerMs(connectMs));
    const end = (why?: string) => {
      clearTimeout(timer);
      if (why !== undefined) upstream.destroy();
      done(why);
    };
    // The listeners stay, for later errors must find one too: "close" follows, and the owner acts on that.
    upstream.on("error", ({ code }: NodeJS.ErrnoException) => end(code ?? "ECONNRESET"));
    upstream.once("close", () => end("ECONNRESET"));
    if (upstream.connecting) upstream.once("connect", () => end());
    else end();
  });
}

function unconnected(to: Destination, why: string): Denial {
  const at = `${to.name}:${to.port}`;
  if (why === "ETIMEDOUT")
    return unreached(to, "E3306", { message: `${at} did not accept a connection in time.`, status: 504 });
  const reply = why === "ECONNREFUSED" ? REPLY.refused : REPLY.unreachable;
  return unreached(to, "E3304", { message: `${at} could not be connected to (${why}).`, reply });
}
