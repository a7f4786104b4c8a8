import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { timerMs } from "@sallyport/engine/host";
import type { Admission } from "./gate.ts";
import type { Upstream } from "./upstream.ts";

/** More requests than this at once on one connection are no honest client's. */
const MOST_WAITING = 8;

/** One client connection and what belongs to it. */
export class Lane {
  readonly socket: Socket;
  /** Beyond the limit of connections: it is told so and gets nothing. */
  readonly crowded: boolean;
  /** Set once its TLS is ended here: every request goes there and nowhere else. */
  bound: Admission | undefined;
  /** The connection of its last request, kept for the next to the same host. */
  upstream: Upstream | undefined;
  /** Answers to requests that were read and are not done yet. */
  readonly owed = new Set<ServerResponse>();
  #headTimer: NodeJS.Timeout | undefined;
  #waiting = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(socket: Socket, crowded: boolean) {
    this.socket = socket;
    this.crowded = crowded;
    // Node reports every error to a listener and then closes; all that is to be done is done on close.
    socket.on("error", () => undefined);
    socket.once("close", () => this.#release());
  }

  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  /** From now, a whole head must come in time, however slowly its bytes drip. */
  expectHead(headMs: number): void {
    clearTimeout(this.#headTimer);
    if (!this.socket.destroyed) this.#headTimer = setTimeout(() => this.socket.destroy(), timerMs(headMs));
  }

  headCame(): void {
    clearTimeout(this.#headTimer);
  }

  /** Runs one piece of work after another. Too many at once, or a defect in one, end the connection. */
  inTurn(work: () => Promise<void>): void {
    if (this.#waiting >= MOST_WAITING) {
      this.socket.destroy();
      return;
    }
    this.#waiting += 1;
    this.#turn = this.#turn.then(work).catch((error: unknown) => this.#giveUp(error));
    this.#turn = this.#turn.then(() => {
      this.#waiting -= 1;
    });
  }

  #giveUp(error: unknown): void {
    process.emitWarning(`An egress connection was ended by a defect: ${traceOf(error)}`);
    this.socket.destroy();
  }

  #release(): void {
    clearTimeout(this.#headTimer);
    this.upstream?.close();
  }
}

/** Where it happened. Not its message, which may quote what was being sent. */
function traceOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return `${error.name}\n${error.stack
    ?.split("\n")
    .filter((line) => line.startsWith("    at "))
    .join("\n")}`;
}
