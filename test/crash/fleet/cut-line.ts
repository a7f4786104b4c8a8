import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The line between one replica and the database. Silence: nothing gets through either way and nobody is told. */
export type Line = "open" | "silent" | "refused";

/** An answer that is not to arrive: of the next request that has this in it. */
interface Trap {
  of: string;
  /** The connection that the request has gone through. */
  socket?: Socket;
  sprung(): void;
}

/** Passes bytes on to a port of this machine until the line is cut. */
export class CutLine implements AsyncDisposable {
  readonly #target: number;
  readonly #server: Server;
  readonly #pairs = new Set<[Socket, Socket]>();
  #line: Line = "open";
  #trap: Trap | undefined;

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((near) => this.#accept(near));
  }

  async open(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  set(line: Line): void {
    this.#line = line;
    for (const pair of this.#pairs) for (const socket of pair) this.#apply(socket);
    if (line === "refused") this.reset();
  }

  /**
   * The next request with this text in it reaches the database, and its answer does not come back: the line is refused
   * from then on. Resolves at that moment.
   */
  swallowAnswer(of: string): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = { of, sprung: resolve };
    });
  }

  /** Ends every connection with a reset; the next one may be made at once. */
  reset(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reset();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(near: Socket): void {
    if (this.#line === "refused") return void near.resetAndDestroy();
    const far = connect({ port: this.#target, host: "127.0.0.1" });
    const pair: [Socket, Socket] = [near, far];
    this.#pairs.add(pair);
    for (const [from, to] of [pair, pair.toReversed()] as [Socket, Socket][]) {
      from.on("data", (bytes) => {
        if (!this.#isSwallowed(bytes, { from, far })) to.write(bytes);
      });
      from.on("end", () => to.end());
      from.on("error", () => undefined);
      from.on("close", () => {
        this.#pairs.delete(pair);
        to.destroy();
      });
      this.#apply(from);
    }
  }

  #isSwallowed(bytes: Buffer, { from, far }: { from: Socket; far: Socket }): boolean {
    const trap = this.#trap;
    if (trap && from !== far && bytes.includes(trap.of)) trap.socket ??= far;
    if (!trap || trap.socket !== from) return false;
    this.#trap = undefined;
    this.set("refused");
    trap.sprung();
    return true;
  }

  #apply(socket: Socket): void {
    if (this.#line === "silent") socket.pause();
    else socket.resume();
  }
}
