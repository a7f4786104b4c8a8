import { Agent } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls, getCACertificates, type TLSSocket } from "node:tls";
import { timerMs } from "@sallyport/engine/host";
import { type Denial, isDenial, unreached } from "./denial.ts";
import { type Destination, isSame } from "./destination.ts";
import { type Dialler, dialWay } from "./dial.ts";
import type { Way } from "./gate.ts";

/** Shorter than what servers keep an idle connection for. */
const KEPT_MS = 4_000;

/**
 * One connection to a checked address, for the requests of one client connection to one host. What Node's agent adds
 * is only that the connection is kept between them; it never makes another.
 */
export class Upstream extends Agent {
  readonly way: Way;
  readonly secure: boolean;
  readonly #socket: Socket;
  /** How many requests were begun on it. */
  begun = 0;
  #handedOut = false;

  constructor(way: Way, socket: Socket, secure: boolean) {
    super({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1, timeout: KEPT_MS });
    this.way = way;
    this.secure = secure;
    this.#socket = socket;
  }

  override createConnection(_options: object, made?: (error: Error | null, stream: Duplex) => void) {
    if (!this.#handedOut) {
      this.#handedOut = true;
      return this.#socket;
    }
    // Only when it has just closed: the request then fails as any on a closed connection does.
    made?.(new Error("the connection was closed"), this.#socket);
    return null;
  }

  /** Whether a further request to there may use it. */
  isFreeFor(to: Destination, secure: boolean): boolean {
    const isKept = Object.values(this.freeSockets).flat().includes(this.#socket);
    return isKept && !this.#socket.destroyed && this.secure === secure && isSame(this.way.to, to);
  }

  close(): void {
    this.destroy();
    this.#socket.destroy();
  }
}

/** Connects, and for https makes sure that it is really the host, by its certificate. */
export async function connectUpstream(
  way: Way,
  dialler: Dialler,
  tls: ConnectionOptions | undefined,
): Promise<Upstream | Denial> {
  const socket = await dialWay(way, dialler, false);
  if (isDenial(socket)) return socket;
  if (!tls) return new Upstream(way, socket, false);
  const secured = await secure(socket, { ...tls, ...identityOf(way.to) }, dialler.connectMs);
  if (typeof secured !== "string") return new Upstream(way, secured, true);
  const message = `${way.to.name}:${way.to.port} could not be verified or spoken to by TLS (${secured}).`;
  return unreached(way.to, "E3304", { message });
}

/** How certificates are checked upstream: always, whatever the environment says. */
export function upstreamTls(extraCa: string | undefined): ConnectionOptions {
  return {
    ALPNProtocols: ["http/1.1"],
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
    ...(extraCa !== undefined && { ca: [...getCACertificates("default"), extraCa] }),
  };
}

function identityOf({ name, address }: Destination): ConnectionOptions {
  return address === undefined ? { host: name, servername: name } : { host: address };
}

/** The secured connection, or the code of what went wrong. */
function secure(socket: Socket, options: ConnectionOptions, withinMs: number): Promise<TLSSocket | string> {
  return new Promise((done) => {
    const secured = connectTls({ ...options, socket });
    const timer = setTimeout(() => end("ETIMEDOUT"), timerMs(withinMs));
    const end = (answer: TLSSocket | string) => {
      clearTimeout(timer);
      if (typeof answer === "string") socket.destroy();
      done(answer);
    };
    secured.on("error", ({ code }: NodeJS.ErrnoException) => end(code ?? "ECONNRESET"));
    secured.once("close", () => end("ECONNRESET"));
    secured.once("secureConnect", () => end(secured));
    socket.once("close", () => secured.destroy());
  });
}
