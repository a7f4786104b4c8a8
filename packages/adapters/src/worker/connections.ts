import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { timerMs } from "@sallyport/engine/host";

/** One request, and within which bounds its answer is taken. */
export interface Order {
  url: URL;
  method: "GET" | "POST";
  headers: OutgoingHttpHeaders;
  body?: Buffer;
  timeoutMs: number;
  /** Aborted: the request is given up. */
  signal?: AbortSignal;
  maxBytes: number;
}

/** A whole answer with status 200. */
export interface Whole {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** How an exchange went. Whatever happens, there is exactly one reply, and only a good answer leaves its connection open. */
export type Reply<Read> =
  | { kind: "answered"; read: Read }
  /** Another status than 200; its body was not read. */
  | { kind: "status"; status: number; retryAfter: string | undefined }
  | { kind: "too_large"; bytes: number }
  /** No connection: nothing was sent. */
  | { kind: "unreached"; why: string }
  /** What came is no HTTP. */
  | { kind: "garbage"; why: string }
  /** The connection ended within the request or the answer: it may have been carried out. */
  | { kind: "broken_off"; why: string }
  | { kind: "timeout"; connected: boolean }
  | { kind: "cancelled" };

export interface ConnectionOptions {
  /** For workers behind certificates of an authority of one's own, or that want a client's certificate. */
  tls?: Pick<SecureContextOptions, "ca" | "cert" | "key">;
  /** How long a connection may wait for its next request; below the 5 s after which many servers close theirs. */
  idleMs?: number;
}

const DEFAULT_IDLE_MS = 4_000;
const HEADER_BYTES = 16 * 1024;

/**
 * Connections to workers, kept open between requests. A request is sent once: when a connection that was kept open turns
 * out to be gone, nobody can tell whether the worker has it, so it is not sent again here (the engine repeats idempotent
 * tools). Redirects are not followed.
 */
export class Connections {
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;
  readonly #running = new Map<() => void, Promise<unknown>>();
  #closed = false;

  constructor({ tls = {}, idleMs = DEFAULT_IDLE_MS }: ConnectionOptions = {}) {
    const kept = { keepAlive: true, timeout: idleMs };
    this.#http = new HttpAgent(kept);
    this.#https = new HttpsAgent({ ...kept, ...tls });
  }

  /**
   * Never rejects. `read` is given a good answer while its connection still belongs to it; one that it does not find
   * sound costs the worker the connection, so that nothing left on it can be taken for the next answer.
   */
  exchange<Read extends { isSound: boolean }>(
    order: Order,
    read: (whole: Whole) => Read,
  ): Promise<Reply<Read>> {
    if (this.#closed || order.signal?.aborted) return Promise.resolve({ kind: "cancelled" });
    const { promise, resolve } = Promise.withResolvers<Reply<Read>>();
    const exchange = new Exchange<Read>(this.#open(order), order, { read, done: resolve });
    const cancel = () => exchange.end({ kind: "cancelled" });
    this.#running.set(cancel, promise);
    return promise.finally(() => this.#running.delete(cancel));
  }

  /** Gives up what is under way and closes every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const cancel of this.#running.keys()) cancel();
    await Promise.all(this.#running.values());
    this.#http.destroy();
    this.#https.destroy();
  }

  #open({ url, method, headers }: Order): ClientRequest {
    const how = { method, headers, maxHeaderSize: HEADER_BYTES, insecureHTTPParser: false };
    return url.protocol === "https:"
      ? requestHttps(url, { ...how, agent: this.#https })
      : requestHttp(url, { ...how, agent: this.#http });
  }
}

interface Reader<Read> {
  read(whole: Whole): Read;
  done(reply: Reply<Read>): void;
}

/** One request until its reply. The first thing that ends it counts. */
class Exchange<Read extends { isSound: boolean }> {
  readonly #out: ClientRequest;
  readonly #order: Order;
  readonly #reader: Reader<Read>;
  readonly #timer: NodeJS.Timeout;
  readonly #cancel = () => this.end({ kind: "cancelled" });
  #socket: Socket | undefined;
  #connected = false;
  #ended = false;

  constructor(out: ClientRequest, order: Order, reader: Reader<Read>) {
    this.#out = out;
    this.#order = order;
    this.#reader = reader;
    this.#timer = setTimeout(() => this.#late(), timerMs(order.timeoutMs));
    order.signal?.addEventListener("abort", this.#cancel, { once: true });
    out.once("socket", (socket) => {
      const ready = order.url.protocol === "https:" ? "secureConnect" : "connect";
      this.#socket = socket;
      this.#connected = out.reusedSocket;
      if (!this.#connected) socket.once(ready, () => (this.#connected = true));
    });
    out.once("response", (answer) => this.#take(answer));
    out.on("error", (error) => this.#fail(error));
    // An upgrade that nobody asked for ends a request without an error.
    out.once("close", () => this.#fail(new Error("closed")));
    out.end(order.body);
  }

  end(reply: Reply<Read>): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#order.signal?.removeEventListener("abort", this.#cancel);
    if (reply.kind !== "answered" || !reply.read.isSound) {
      this.#out.destroy();
      // A request whose answer has ended does not destroy its connection, which is about to be kept.
      this.#socket?.destroy();
    }
    this.#reader.done(reply);
  }

  #late(): void {
    this.end({ kind: "timeout", connected: this.#connected });
  }

  #fail(error: NodeJS.ErrnoException): void {
    const why = error.code ?? "no answer";
    const isGarbage = why.startsWith("HPE_");
    this.end({ kind: isGarbage ? "garbage" : this.#connected ? "broken_off" : "unreached", why });
  }

  #take(answer: IncomingMessage): void {
    const { statusCode: status = 0, headers } = answer;
    answer.on("error", (error) => this.#fail(error));
    if (status !== 200) {
      this.end({ kind: "status", status, retryAfter: headers["retry-after"] });
      return;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    const count = (more: number) => {
      bytes += more;
      if (bytes > this.#order.maxBytes) this.end({ kind: "too_large", bytes });
    };
    answer.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      count(chunk.length);
    });
    answer.once("end", () => {
      if (this.#ended) return;
      const read = this.#reader.read({ headers, body: Buffer.concat(chunks) });
      this.end({ kind: "answered", read });
    });
  }
}
