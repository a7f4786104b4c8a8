import type { Socket } from "node:net";
import {
  failure,
  isFailure,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  SallyportError,
} from "@sallyport/protocol";
import type { DeskMethod, ToDesk } from "./desk-words.ts";
import { JsonLines } from "./json-lines.ts";

/** Answers hold what calls gave back, which the engine bounds. */
const MAX_LINE_CHARS = 512 * 1024 * 1024;
const GREETING_MS = 10_000;

interface PendingRequest {
  resolve(value: JsonValue | undefined): void;
  reject(error: Error): void;
}

/** The command line's end of the line to a desk. When the line breaks, everything that waits for an answer rejects. */
export class DeskLine {
  /** The server's first word. Rejects when it says nothing. */
  readonly greeting: Promise<JsonObject>;
  readonly #socket: Socket;
  readonly #asked = new Map<number, PendingRequest>();
  #greet: ((words: JsonObject) => void) | undefined;
  #last = 0;
  #isGone = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.greeting = new Promise((resolve, reject) => {
      this.#asked.set(0, { resolve: () => undefined, reject });
      this.#greet = resolve;
    });
    const lines = new JsonLines({
      maxChars: MAX_LINE_CHARS,
      onWords: (words) => this.#hear(words),
      onNonsense: () => socket.destroy(),
    });
    socket.setTimeout(GREETING_MS, () => socket.destroy());
    socket.on("data", (chunk: Buffer) => lines.take(chunk));
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.#break());
  }

  /** What the method gives at the other end; the signal interrupts it there. Rejects when it was refused or the line broke. */
  ask(method: DeskMethod, given: readonly unknown[], signal?: AbortSignal): Promise<never> {
    this.#last += 1;
    const ask = this.#last;
    const cancel = () => this.#say({ cancel: ask });
    const answered = new Promise<JsonValue | undefined>((resolve, reject) => {
      if (this.#isGone) {
        reject(broken());
        return;
      }
      this.#asked.set(ask, { resolve, reject });
      this.#say({ ask, method, given });
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted) cancel();
    });
    // What the other end's method gives is of that method's type, which only the caller here knows.
    return answered.finally(() => signal?.removeEventListener("abort", cancel)) as Promise<never>;
  }

  close(): void {
    this.#socket.destroy();
  }

  #say(words: ToDesk): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(words)}\n`);
  }

  #hear(words: JsonObject): void {
    if (this.#greet) this.#welcome(words);
    else if (typeof words.answer === "number") this.#settle(words.answer, words);
  }

  #welcome(words: JsonObject): void {
    this.#socket.setTimeout(0);
    this.#asked.delete(0);
    this.#greet?.(words);
    this.#greet = undefined;
  }

  #settle(answer: number, { value, refused }: JsonObject): void {
    const asked = this.#asked.get(answer);
    this.#asked.delete(answer);
    if (isJsonObject(refused) && isFailure(refused)) asked?.reject(new SallyportError(refused));
    else asked?.resolve(value);
  }

  #break(): void {
    this.#isGone = true;
    for (const { reject } of this.#asked.values()) reject(broken());
    this.#asked.clear();
  }
}

function broken(): SallyportError {
  return new SallyportError(
    failure("E3945", { message: "The process that holds the state folder hung up before it had answered." }),
  );
}
