import {
  type Failure,
  failure,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  SallyportError,
} from "@sallyport/protocol";
import { DESK_METHODS, type DeskMethod, type FromDesk } from "./desk-words.ts";
import type { EngineAccess } from "./engine-access.ts";
import { JsonLines } from "./json-lines.ts";

/** Beyond what any engine takes as the input of a call. */
const MAX_LINE_CHARS = 128 * 1024 * 1024;

/** Where in what it is given a method takes the signal that ends it. */
const SIGNAL_PLACE: Partial<Record<DeskMethod, number>> = { call: 0, resume: 1 };

interface Line {
  say(words: FromDesk): void;
  hangUp(): void;
}

/** One visitor at the desk: answers what is asked, in whatever order it gets done, and hangs up on nonsense. */
export class DeskConversation {
  readonly #desk: EngineAccess;
  readonly #line: Line;
  readonly #asked = new Map<number, AbortController>();
  readonly #lines = new JsonLines({
    maxChars: MAX_LINE_CHARS,
    onWords: (words) => this.#take(words),
    onNonsense: () => this.#line.hangUp(),
  });

  constructor(desk: EngineAccess, line: Line) {
    this.#desk = desk;
    this.#line = line;
  }

  hear(chunk: Buffer): void {
    this.#lines.take(chunk);
  }

  /** Cancels what is still being done. */
  end(): void {
    for (const controller of this.#asked.values()) controller.abort("whoever asked for it has gone");
  }

  #take({ ask, cancel, method, given }: JsonObject): void {
    if (typeof cancel === "number") this.#asked.get(cancel)?.abort("interrupted");
    else if (typeof ask === "number" && !this.#asked.has(ask) && Array.isArray(given))
      void this.#answer(ask, { method, given });
    else this.#line.hangUp();
  }

  /** Never rejects. */
  async #answer(ask: number, asked: { method: JsonValue | undefined; given: JsonValue[] }): Promise<void> {
    const controller = new AbortController();
    this.#asked.set(ask, controller);
    try {
      const value = await this.#perform(asked.method, asked.given, controller.signal);
      this.#line.say({ answer: ask, ...(value !== undefined && { value: value as JsonValue }) });
    } catch (error) {
      const refused = error instanceof SallyportError ? error.failure : failure("E3900");
      this.#line.say({ answer: ask, refused });
    } finally {
      this.#asked.delete(ask);
    }
  }

  #perform(method: JsonValue | undefined, given: JsonValue[], signal: AbortSignal): unknown {
    const known = DESK_METHODS.find((name) => name === method);
    if (known === undefined) throw new SallyportError(unknownMethod(method));
    const [name = "", room] = known.split(".").reverse();
    const owner: object = room === undefined ? this.#desk : Reflect.get(this.#desk, room);
    return Reflect.apply(Reflect.get(owner, name), owner, withSignal(known, given, signal));
  }
}

/** A call that is made or gone on with ends when whoever asked for it interrupts it. */
function withSignal(method: DeskMethod, given: JsonValue[], signal: AbortSignal): unknown[] {
  const place = SIGNAL_PLACE[method];
  if (place === undefined) return given;
  const options = given[place];
  return given.with(place, { ...(isJsonObject(options) && options), signal } as never);
}

function unknownMethod(method: JsonValue | undefined): Failure {
  return failure("E3945", { message: `The server knows no ${String(method)}.`, advice: SAME_VERSION });
}

const SAME_VERSION = "Use the same version of Sallyport here as the process that holds the state folder.";
