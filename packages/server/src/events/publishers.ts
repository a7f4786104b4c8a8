import { randomUUID } from "node:crypto";
import { EventPublisher } from "@sallyport/engine";
import type { EventSink, OutboxReader } from "@sallyport/engine/ports";
import { backlogsOf, type PublisherClosing, type SinkBacklog } from "@sallyport/engine/publish";

/** Where problems of sinks are logged. */
export interface SinkLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** What waits for a sink, and why it gets nothing at present, if it does not. */
export interface SinkStatus extends SinkBacklog {
  problem?: string;
}

/**
 * Publishes to every configured sink, each by itself: one that is down holds up neither the others nor the calls. A
 * one-shot command starts none of them, and on an embedded store sends its events when it closes.
 */
export class EventPublishers {
  readonly #outbox: OutboxReader;
  readonly #publishers: readonly EventPublisher[];
  #log: SinkLog | undefined;

  constructor(outbox: OutboxReader, sinks: ReadonlyMap<string, EventSink>) {
    this.#outbox = outbox;
    const instance = randomUUID();
    const onChange = (sink: string, error: unknown) =>
      error === undefined
        ? this.#log?.info({ sink }, "Events are published again")
        : this.#log?.warn({ sink, err: error }, "Events wait: their sink does not take them");
    this.#publishers = Array.from(
      sinks,
      ([name, sink]) =>
        new EventPublisher(
          outbox,
          { name, sink, instance },
          { onChange: (problem) => onChange(name, problem?.error) },
        ),
    );
  }

  /** The names that units write their events under. */
  get names(): string[] {
    return this.#publishers.map(({ name }) => name);
  }

  start(log: SinkLog): void {
    this.#log = log;
    for (const publisher of this.#publishers) publisher.start();
  }

  /** A hint that something was committed. */
  wake(): void {
    for (const publisher of this.#publishers) publisher.wake();
  }

  /** Of every configured sink, and of others that something still waits for. */
  async status(): Promise<SinkStatus[]> {
    const backlogs = backlogsOf(await this.#outbox.backlogs(), this.names);
    const problemOf = (sink: string) => this.#publishers.find(({ name }) => name === sink)?.problem;
    return backlogs.map((backlog) => {
      const problem = problemOf(backlog.sink);
      return { ...backlog, ...(problem && { problem: messageOf(problem.error) }) };
    });
  }

  /** Publishes what is left, if it shall, and lets go of the sinks; resolves with why events still wait, if they do. */
  async close(options: PublisherClosing = {}): Promise<string | undefined> {
    const ends = await Promise.allSettled(this.#publishers.map((publisher) => publisher.close(options)));
    const reasons = ends.flatMap((end) => (end.status === "rejected" ? [messageOf(end.reason)] : []));
    return reasons.length === 0 ? undefined : reasons.join(" ");
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
