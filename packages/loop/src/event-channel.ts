import { StringDecoder } from "node:string_decoder";
import type { OutputListener } from "@sallyport/engine/ports";
import type { LoopEvent } from "./events.ts";
import { EVENT_CAPACITY } from "./settings.ts";

type Tell = (event: LoopEvent) => void | Promise<void>;

/** A joined chunk grows no longer than this, so that a queue is bounded in bytes too (NFR-PERF-04). */
export const LONGEST_JOINED_CHARS = 64 * 1024;

/**
 * What waits for one listener, which is told one thing at a time, in order. While it is busy, text that follows text
 * of the same kind and call is joined to it. The listener is told within `put` when it is not busy. One that throws is
 * told nothing more.
 */
class ListenerQueue {
  readonly #listener: Tell;
  readonly #capacity: number;
  #waiting: LoopEvent[] = [];
  #isBusy = false;
  #isClosed = false;
  readonly #waiters: { isMet(): boolean; resolve(): void }[] = [];

  constructor(listener: Tell, capacity: number) {
    this.#listener = listener;
    this.#capacity = capacity;
  }

  /**
   * Takes the event in any case. A promise means that there is no room for more until it resolves: whoever waits for
   * it keeps the queue within its capacity.
   */
  put(event: LoopEvent): void | Promise<void> {
    if (this.#isClosed) return;
    const last = this.#waiting.at(-1);
    const joined = last && joinedText(last, event);
    if (joined) this.#waiting[this.#waiting.length - 1] = joined;
    else this.#waiting.push(event);
    if (!this.#isBusy) void this.#work();
    return this.#until(() => this.#waiting.length < this.#capacity);
  }

  /** Resolves once nothing waits and the listener is done. */
  settled(): void | Promise<void> {
    return this.#until(() => !this.#isBusy);
  }

  /** Nobody listens any more; whoever waited goes on. */
  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    this.#wake();
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let event = this.#waiting.shift(); event; event = this.#waiting.shift()) {
        this.#wake();
        const busy = this.#listener(event);
        if (busy) await busy;
      }
    } catch {
      this.close();
    }
    this.#isBusy = false;
    this.#wake();
  }

  #until(isMet: () => boolean): void | Promise<void> {
    if (!isMet() && !this.#isClosed) {
      return new Promise((resolve) => this.#waiters.push({ isMet, resolve }));
    }
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) {
      if (this.#isClosed || waiter.isMet()) waiter.resolve();
      else this.#waiters.push(waiter);
    }
  }
}

/** Both as one event; undefined where they are not pieces of the same text, or would become too long. */
export function joinedText(last: LoopEvent, next: LoopEvent): LoopEvent | undefined {
  if (last.kind === "text" || last.kind === "reasoning") {
    if (next.kind !== last.kind || isTooLong(last.delta, next.delta)) return undefined;
    return { kind: last.kind, delta: last.delta + next.delta };
  }
  if (last.kind !== "stdout" && last.kind !== "stderr") return undefined;
  if (next.kind !== last.kind || next.index !== last.index || next.id !== last.id) return undefined;
  return isTooLong(last.chunk, next.chunk) ? undefined : { ...last, chunk: last.chunk + next.chunk };
}

function isTooLong(one: string, two: string): boolean {
  return one.length + two.length > LONGEST_JOINED_CHARS;
}

/**
 * From the loop to whoever watches it (FR-OUT-01). Every listener is told everything from when it began to listen, in
 * order: nothing is dropped or reordered, pieces of one text may come joined. A listener that does not keep up makes
 * `tell` wait; one that throws is dropped, and the loop goes on.
 */
export class EventChannel {
  readonly #queues = new Set<ListenerQueue>();
  readonly #capacity: number;

  /** `capacity`: how many events may wait for a listener. */
  constructor(capacity = EVENT_CAPACITY) {
    this.#capacity = capacity;
  }

  /** Returns how to stop; what still waits then is not told, and nobody waits for this listener any more. */
  listen(listener: Tell): () => void {
    const queue = new ListenerQueue(listener, this.#capacity);
    this.#queues.add(queue);
    return () => {
      this.#queues.delete(queue);
      queue.close();
    };
  }

  /** Never throws or rejects. A promise resolves once every listener has room: wait for it before telling more. */
  tell(event: LoopEvent): void | Promise<void> {
    return all([...this.#queues].map((queue) => queue.put(event)));
  }

  /** Resolves once every listener has been told everything so far. */
  settled(): void | Promise<void> {
    return all([...this.#queues].map((queue) => queue.settled()));
  }
}

function all(waits: readonly (void | Promise<void>)[]): void | Promise<void> {
  const real = waits.filter((wait) => wait !== undefined);
  if (real.length > 0) return Promise.all(real).then(() => undefined);
}

const STREAMS = ["stdout", "stderr"] as const;

/**
 * What a process writes, as text for whoever watches; characters that are cut between two chunks stay whole. While the
 * watchers do not keep up, what comes is joined by stream, so that it takes no more room than its text (NFR-PERF-04).
 */
export function outputChunks(
  call: { index: number; id: string },
  tell: Tell,
): { take: OutputListener; end(): Promise<void> } {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const waiting = { stdout: "", stderr: "" };
  let isTelling = false;
  let told = Promise.resolve();
  const tellAll = async () => {
    isTelling = true;
    while (waiting.stdout !== "" || waiting.stderr !== "") {
      for (const kind of STREAMS) {
        const chunk = waiting[kind];
        waiting[kind] = "";
        const wait = chunk === "" ? undefined : tell({ kind, ...call, chunk });
        if (wait) await wait;
      }
    }
    isTelling = false;
  };
  const say = (kind: "stdout" | "stderr", chunk: string) => {
    waiting[kind] += chunk;
    if (!isTelling) told = tellAll();
  };
  return {
    take: (stream, chunk) => say(stream, decoders[stream].write(Buffer.from(chunk))),
    async end() {
      for (const kind of STREAMS) say(kind, decoders[kind].end());
      await told;
    },
  };
}

/** What comes first: the value, or undefined once the signal aborts. */
export async function raceAbort<Value>(
  value: Value | Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  if (!(value instanceof Promise)) return value;
  const aborted = Promise.withResolvers<undefined>();
  const stop = () => aborted.resolve(undefined);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([value, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
