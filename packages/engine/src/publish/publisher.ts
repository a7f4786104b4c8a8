import type { EventSink, OutboxReader, OutgoingEvent, PendingBatch } from "../ports/outbox.ts";
import type { Random } from "../ports/platform.ts";

/** Batches of one send. More would hold up calls that run meanwhile; fewer would sync the sink more often. */
const BATCHES = 400;

/** One sink, and who publishes to it. */
export interface Publication {
  /** The name that units write its events under. */
  name: string;
  sink: EventSink;
  instance: string;
}

/**
 * Sends what waits for the sink in the partitions of this instance, oldest first. A batch leaves the outbox only after
 * the sink has it, so none is lost and some may be sent twice. Resolves with the number of events sent; rejects when the
 * sink or the store does, and what is not sent then waits on. Others may write all the time: `isEnough` is asked after
 * each send, with the number of batches so far.
 */
export async function publishPending(
  outbox: OutboxReader,
  { name, sink, instance }: Publication,
  isEnough: (batches: number) => boolean = () => false,
): Promise<number> {
  let sent = 0;
  for (let taken = 0; !isEnough(taken); ) {
    const batches = await outbox.pending({ sink: name, instance, limit: BATCHES });
    if (batches.length === 0) break;
    const events = batches.flatMap(outgoing);
    await sink.send(events);
    await outbox.delivered({ sink: name, ids: batches.map(({ id }) => id) });
    sent += events.length;
    taken += batches.length;
  }
  return sent;
}

function outgoing({ tenant, events }: PendingBatch): OutgoingEvent[] {
  return events.map((json) => ({ tenant, json }));
}

export interface PublisherOptions {
  /** How often to look for what other processes have written. */
  everyMs?: number;
  /** After a hint: so long events are gathered before they are sent. */
  lingerMs?: number;
  random?: Random;
  /** Told of the first failure and of the recovery, not of each try. */
  onChange?: (problem: SinkProblem | undefined) => void;
}

/** Why a sink gets nothing at present. */
export interface SinkProblem {
  sink: string;
  since: number;
  error: unknown;
}

const EVERY_MS = 1_000;
const LINGER_MS = 100;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Publishes to one sink for as long as the process stays. `idle` → `waiting` (a timer is set) → `publishing` → `waiting`;
 * from each to `idle`, for good. One send is under way at a time, because two would send the same. After a failure it
 * waits longer each time, up to a minute, and hints do not shorten that. Sinks have a publisher each, so one that is down
 * holds up no other.
 */
export class EventPublisher {
  readonly #outbox: OutboxReader;
  readonly #publication: Publication;
  readonly #options: PublisherOptions;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #publishing: Promise<void> | undefined;
  #isHinted = false;
  #failures = 0;
  #problem: SinkProblem | undefined;
  #isActive = false;
  #isChecked = false;

  /** Nothing happens before `start`. */
  constructor(outbox: OutboxReader, publication: Publication, options: PublisherOptions = {}) {
    this.#outbox = outbox;
    this.#publication = publication;
    this.#options = options;
  }

  get name(): string {
    return this.#publication.name;
  }

  /** Undefined while the sink takes what it is sent. */
  get problem(): SinkProblem | undefined {
    return this.#problem;
  }

  /** Checks the sink, publishes what waits, and goes on. Does not keep the process alive. */
  start(): void {
    if (this.#isActive) return;
    this.#isActive = true;
    this.#schedule(0);
  }

  /** A hint that something was committed. Nothing comes of it before `start`, which looks for everything. */
  wake(): void {
    this.#isHinted = true;
    if (this.#failures === 0 && !this.#publishing) this.#scheduleHinted();
  }

  /** Sends nothing more by itself; resolves once the send under way has ended. */
  async stop(): Promise<void> {
    this.#isActive = false;
    clearTimeout(this.#timer);
    await this.#publishing;
  }

  /**
   * Stops, publishes what waits by then unless it is told not to, and lets go of the sink. Rejects when something could
   * not be sent.
   */
  async close({ sendsRest = true }: { sendsRest?: boolean } = {}): Promise<void> {
    await this.stop();
    try {
      if (sendsRest) await this.#publishRest();
    } finally {
      await this.#publication.sink.close?.();
    }
  }

  async #publishRest(): Promise<void> {
    const backlog = (await this.#outbox.backlogs()).find(({ sink }) => sink === this.name);
    const waiting = backlog?.batches ?? 0;
    await publishPending(this.#outbox, this.#publication, (batches) => batches >= waiting);
  }

  #scheduleHinted(): void {
    const lingerMs = this.#options.lingerMs ?? LINGER_MS;
    if (performance.now() + lingerMs < this.#dueAt) this.#schedule(lingerMs);
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#isActive) return;
    this.#dueAt = performance.now() + ms;
    this.#timer = setTimeout(() => {
      this.#publishing = this.#publish();
    }, ms).unref();
  }

  async #publish(): Promise<void> {
    this.#isHinted = false;
    try {
      // At the start, so that a sink that cannot work is told before there is anything to send.
      if (!this.#isChecked) await this.#publication.sink.check?.();
      this.#isChecked = true;
      await publishPending(this.#outbox, this.#publication, () => !this.#isActive);
      this.#failures = 0;
      this.#tell(undefined);
    } catch (error) {
      this.#failures += 1;
      const since = this.#problem?.since ?? Date.now();
      this.#tell({ sink: this.name, since, error });
    }
    this.#publishing = undefined;
    this.#schedule(this.#failures === 0 ? (this.#options.everyMs ?? EVERY_MS) : this.#backoffMs());
    if (this.#isHinted && this.#failures === 0) this.#scheduleHinted();
  }

  /** Between half and all of a wait that doubles, so that replicas do not come back together. */
  #backoffMs(): number {
    const random = this.#options.random ?? Math.random;
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#failures - 1));
    return longest * (0.5 + random() / 2);
  }

  #tell(problem: SinkProblem | undefined): void {
    const isChange = (problem === undefined) !== (this.#problem === undefined);
    this.#problem = problem;
    if (isChange) this.#options.onChange?.(problem);
  }
}
