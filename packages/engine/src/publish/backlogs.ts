import { type Failure, failure } from "@sallyport/protocol";
import type { Backlog, OutboxReader } from "../ports/outbox.ts";

/** What waits for a sink. `oldestAt` is absent when nothing does. */
export interface SinkBacklog extends Omit<Backlog, "oldestAt"> {
  oldestAt?: number;
  /** Whether this engine writes events for it. */
  isConfigured: boolean;
}

/** Batches of one step of dropping. */
const BATCHES = 1_000;

/** What waits in the outbox, for whoever looks after the sinks. */
export class EventBacklogs {
  readonly #outbox: OutboxReader;
  readonly #sinks: readonly string[];
  readonly #instance: string;

  constructor(outbox: OutboxReader, { sinks, instance }: { sinks: readonly string[]; instance: string }) {
    this.#outbox = outbox;
    this.#sinks = sinks;
    this.#instance = instance;
  }

  /** Of every configured sink, and of others that something still waits for. */
  async list(): Promise<SinkBacklog[]> {
    return backlogsOf(await this.#outbox.backlogs(), this.#sinks);
  }

  /**
   * Drops what waits for a sink that is configured no more; nobody will publish it. Refuses a configured sink, and one
   * that nothing waits for.
   */
  async drop(sink: string): Promise<{ batches: number } | Failure> {
    const found = (await this.list()).find((backlog) => backlog.sink === sink);
    if (found?.isConfigured) {
      const advice = "Take the sink out of the configuration, restart, and drop its events then.";
      return failure("E3921", { message: `Events are still published to the sink "${sink}".`, advice });
    }
    if (!found) return failure("E3921", { message: `No events wait for a sink "${sink}".` });
    let batches = 0;
    for (;;) {
      const page = await this.#outbox.pending({ sink, instance: this.#instance, limit: BATCHES });
      if (page.length === 0) return { batches };
      await this.#outbox.delivered({ sink, ids: page.map(({ id }) => id) });
      batches += page.length;
    }
  }
}

/** The backlogs that a store lists, and an empty one for each configured sink that it does not. */
export function backlogsOf(listed: readonly Backlog[], sinks: readonly string[]): SinkBacklog[] {
  const empty = sinks.filter((sink) => !listed.some((backlog) => backlog.sink === sink));
  const all: Omit<SinkBacklog, "isConfigured">[] = [
    ...listed,
    ...empty.map((sink) => ({ sink, batches: 0 })),
  ];
  return all
    .map((backlog) => ({ ...backlog, isConfigured: sinks.includes(backlog.sink) }))
    .sort((one, other) => (one.sink < other.sink ? -1 : 1));
}
