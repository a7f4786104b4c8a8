import type { Socket } from "node:net";
import { FIXED_BOUNDS } from "./door-settings.ts";
import type { Exchange } from "./exchange.ts";

/** One connection and what is under way on it. */
class Connection {
  readonly socket: Socket;
  /** A list, not a set: it is short, and a set that is filled and emptied on and on keeps what it held from the collector. */
  readonly open: Exchange[] = [];
  latest: Exchange | undefined;
  /** Set once it was told that it is not HTTP, or too slow; nothing it sends counts any more. */
  isCondemned = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Whether something written now would be read as the answer to what the client is sending. */
  get awaitsAnswer(): boolean {
    if (this.isCondemned || !this.socket.writable) return false;
    const { latest, open } = this;
    if (!latest || latest.request.complete) return open.length === 0;
    return open.length === 1 && open[0] === latest && !latest.response.headersSent;
  }
}

/** Knows every connection of the door and every exchange on it, so that closing the door leaves none behind. */
export class Connections {
  readonly #all = new Map<Socket, Connection>();
  /** By the client's address and port: what is under them before TLS stands. */
  readonly #handshakes = new Map<string, Socket>();
  readonly #whenQuiet: (() => void)[] = [];
  readonly #onEnd: (exchange: Exchange) => void;
  #open = 0;

  /** `onEnd` hears of each exchange once: when its answer is out, or its client gone. */
  constructor(onEnd: (exchange: Exchange) => void) {
    this.#onEnd = onEnd;
  }

  add(socket: Socket): void {
    this.#handshakes.delete(peerOf(socket));
    const connection = new Connection(socket);
    this.#all.set(socket, connection);
    socket.once("close", () => {
      this.#all.delete(socket);
      // Not every version of Node tells an answer that waits for its turn on the connection.
      for (const exchange of [...connection.open]) this.#end(exchange, connection);
    });
  }

  addHandshake(socket: Socket): void {
    const peer = peerOf(socket);
    this.#handshakes.set(peer, socket);
    socket.once("close", () => {
      if (this.#handshakes.get(peer) === socket) this.#handshakes.delete(peer);
    });
  }

  of(socket: Socket): Connection | undefined {
    return this.#all.get(socket);
  }

  /** Whether the exchange has a place; none is left on a connection that asks on and on without reading. */
  begin(exchange: Exchange): boolean {
    const connection = this.#all.get(exchange.request.socket);
    if (!connection) return false;
    connection.latest = exchange;
    connection.open.push(exchange);
    this.#open += 1;
    exchange.response.once("close", () => this.#end(exchange, connection));
    return connection.open.length <= FIXED_BOUNDS.pipelined;
  }

  #end(exchange: Exchange, connection: Connection): void {
    const place = connection.open.indexOf(exchange);
    if (place === -1) return;
    connection.open.splice(place, 1);
    this.#open -= 1;
    this.#onEnd(exchange);
    if (this.#open === 0) for (const resolve of this.#whenQuiet.splice(0)) resolve();
  }

  /** Ends connections on which nothing is under way. */
  closeIdle(): void {
    for (const socket of this.#handshakes.values()) socket.destroy();
    for (const { socket, open } of this.#all.values()) if (open.length === 0) socket.destroy();
  }

  /** Asks what streams without end to come to one. */
  endStreams(reason: string): void {
    for (const { open } of this.#all.values())
      for (const exchange of open) if (exchange.streams) exchange.abort(reason);
  }

  /** Lets every connection go once it has what was written to it. */
  release(): void {
    for (const { socket } of this.#all.values()) socket.destroySoon();
  }

  destroyAll(): void {
    for (const socket of [...this.#handshakes.values(), ...this.#all.keys()]) socket.destroy();
  }

  /** Resolves once no exchange is under way. */
  quiet(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenQuiet.push(resolve));
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
