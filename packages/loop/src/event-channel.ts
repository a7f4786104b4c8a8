import type { LoopEvent } from "./events.ts";
import { EVENT_CAPACITY } from "./settings.ts";

type Listener = (event: LoopEvent) => void | Promise<void>;

/** A joined chunk grows no longer than this, so that a queue is bounded in bytes too (NFR-PERF-04). */
export const LONGEST_JOINED_CHARS = 64 * 1024;

/**
 * What waits for one listener, which is told one thing at a time, in order. While it is busy, text that follows text
 * of the same kind and call is joined to it. The listener is told within `put` when it is not busy.
 */
class ListenerQueue {
  readonly #listener: Listener;
  readonly #capacity: number;
  readonly #broke: (error: unknown) => void;
  #waiting: LoopEvent[] = [];
  #isBusy = false;
  #isClosed = false;
  #room: (() => void)[] = [];
  #idle: (() => void)[] = [];

  constructor(listener: Listener, options: { capacity: number; broke(error: unknown): void }) {
    this.#listener = listener;
    this.#capacity = Math.max(1, options.capacity);
    this.#broke = options.broke;
  }

  /**
   * Takes the event in any case. A promise means that there is no room for more until it resolves: whoever waits for
   * it keeps the queue within its capacity.
   */
  put(event: LoopEvent): void | Promise<void> {
    if (this.#isClosed) return;
    if (!this.#join(event)) this.#waiting.push(event);
    if (!this.#isBusy) void this.#work();
    if (this.#waiting.length >= this.#capacity) return new Promise((resolve) => this.#room.push(resolve));
  }

  /** Resolves once nothing waits and the listener is done. */
  settled(): void | Promise<void> {
    if (this.#isBusy) return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Nobody listens any more; whoever waited goes on. */
  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    release(this.#room);
    release(this.#idle);
  }

  #join(event: LoopEvent): boolean {
    const last = this.#waiting.at(-1);
    const joined = last && joinedText(last, event);
    if (joined) this.#waiting[this.#waiting.length - 1] = joined;
    return joined !== undefined;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let event = this.#waiting.shift(); event && !this.#isClosed; event = this.#waiting.shift()) {
        if (this.#waiting.length < this.#capacity) release(this.#room);
        const busy = this.#listener(event);
        if (busy) await busy;
      }
    } catch (error) {
      this.close();
      this.#broke(error);
    }
    this.#isBusy = false;
    release(this.#idle);
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

function release(waiters: (() => void)[]): void {
  for (const resolve of waiters.splice(0)) resolve();
}

/** The items of a stream until it ends or nobody wants them any more, whether or not the stream itself notices. */
export async function* untilAborted<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await raceAbort(iterator.next(), signal);
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a stream that hangs would hang this too. What it says after it was left concerns nobody.
    iterator.return?.().then(undefined, () => undefined);
  }
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

interface ChannelOptions {
  /** How many events may wait for a listener. */
  capacity?: number;
  /** Told once of a listener that threw; it is told nothing more. */
  onProblem?(error: unknown): void;
}

/**
 * From the loop to whoever watches it (FR-OUT-01). Every listener is told everything from when it began to listen, in
 * order: nothing is dropped or reordered, pieces of one text may come joined. A listener that does not keep up makes
 * `tell` wait; one that throws is reported and dropped, and the loop goes on.
 */
export class EventChannel {
  readonly #queues = new Set<ListenerQueue>();
  readonly #capacity: number;
  readonly #onProblem: (error: unknown) => void;

  constructor({ capacity = EVENT_CAPACITY, onProblem = () => undefined }: ChannelOptions = {}) {
    this.#capacity = capacity;
    this.#onProblem = onProblem;
  }

  /** Returns how to stop; what still waits then is not told, and nobody waits for this listener any more. */
  listen(listener: Listener): () => void {
    const queue: ListenerQueue = new ListenerQueue(listener, {
      capacity: this.#capacity,
      broke: (error) => {
        this.#queues.delete(queue);
        this.#report(error);
      },
    });
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

  #report(error: unknown): void {
    try {
      this.#onProblem(error);
    } catch {
      // A report that fails has nobody left to be told.
    }
  }
}

function all(waits: readonly (void | Promise<void>)[]): void | Promise<void> {
  const real = waits.filter((wait) => wait !== undefined);
  if (real.length > 0) return Promise.all(real).then(() => undefined);
}
