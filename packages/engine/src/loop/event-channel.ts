import { type Listener, ListenerQueue } from "./listener-queue.ts";
import type { LoopEvent } from "./loop-events.ts";
import { EVENT_CAPACITY } from "./loop-settings.ts";

export interface ChannelOptions {
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
