import { failure, SallyportError } from "@sallyport/protocol";
import {
  type EventSink,
  type OutboxReader,
  type OutgoingEvent,
  PARTITION_LEASE_MS,
  PENDING_CHARS,
  type PendingBatch,
} from "../ports/outbox.ts";
import type { Random } from "../ports/platform.ts";

/** Batches of one send. More would hold up calls that run meanwhile; fewer would sync the sink more often. */
const BATCHES = 400;
/** How often the partitions are renewed while a sink takes its time. */
const RENEW_MS = PARTITION_LEASE_MS / 5;
/** How long the rest of the outbox has when a publisher closes. */
const REST_MS = 5_000;

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
 * sink or the store does, and what is not sent then waits on. Others may write all the time: `isEnough` is asked before
 * each page, and told whether the one before had everything that waited then.
 */
export async function publishPending(
  outbox: OutboxReader,
  publication: Publication,
  { isEnough = () => false, signal }: { isEnough?: (hadAll: boolean) => boolean; signal?: AbortSignal } = {},
): Promise<number> {
  const { name, instance } = publication;
  let sent = 0;
  for (let hadAll = false; !isEnough(hadAll) && !signal?.aborted; ) {
    const askedAt = performance.now();
    const batches = await outbox.pending({ sink: name, instance, limit: BATCHES });
    if (batches.length === 0) break;
    const events = batches.flatMap(outgoing);
    await sendWhileHeld(outbox, publication, { events, askedAt, signal });
    await outbox.delivered({ sink: name, ids: batches.map(({ id }) => id) });
    sent += events.length;
    const chars = events.reduce((sum, { json }) => sum + json.length, 0);
    hadAll = batches.length < BATCHES && chars < PENDING_CHARS;
  }
  return sent;
}

/** Renews the partitions until the sink has the events, and stops sending when they may be another's. */
async function sendWhileHeld(
  outbox: OutboxReader,
  { name, sink, instance }: Publication,
  { events, askedAt, signal }: { events: OutgoingEvent[]; askedAt: number; signal: AbortSignal | undefined },
): Promise<void> {
  const lost = new AbortController();
  // A store leases for longer at its own time: at least half a lease is left after each question.
  let heldUntil = askedAt + PARTITION_LEASE_MS / 2;
  const renew = async () => {
    const at = performance.now();
    const isHeld = at < heldUntil && (await outbox.renew({ sink: name, instance }).catch(() => undefined));
    if (isHeld) heldUntil = at + PARTITION_LEASE_MS;
    if (isHeld === false) lost.abort(notHeld(name));
  };
  const timer = setInterval(() => void renew(), RENEW_MS).unref();
  try {
    await sink.send(events, signal ? AbortSignal.any([signal, lost.signal]) : lost.signal);
  } finally {
    clearInterval(timer);
  }
}

function notHeld(sink: string): SallyportError {
  const message = `Another process may send the events of the sink "${sink}" by now: their lease could not be renewed.`;
  return new SallyportError(failure("E3914", { message }));
}

function restWaits(sink: string): SallyportError {
  const message = `Events still wait for the sink "${sink}": they go out elsewhere, or at the next start.`;
  return new SallyportError(failure("E3304", { message }));
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

export interface PublisherClosing {
  sendsRest?: boolean;
  /** How long the rest has. Default: 5 s. */
  withinMs?: number;
  /** Ends the sending at once. */
  signal?: AbortSignal | undefined;
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
  readonly #cut = new AbortController();
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
   * Stops, publishes what waits unless it is told not to, and lets go of the sink, all of it within a few seconds or until
   * the signal. Rejects when something could not be sent: it goes out elsewhere, or at the next start.
   */
  async close({ sendsRest = true, withinMs = REST_MS, signal }: PublisherClosing = {}): Promise<void> {
    const cut = () => this.#cut.abort(restWaits(this.name));
    const timer = setTimeout(cut, withinMs);
    signal?.addEventListener("abort", cut);
    if (signal?.aborted) cut();
    try {
      await this.stop();
      const { signal: cutting } = this.#cut;
      const rest = { isEnough: (hadAll: boolean) => hadAll, signal: cutting };
      if (sendsRest) await publishPending(this.#outbox, this.#publication, rest);
      cutting.throwIfAborted();
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cut);
      await this.#publication.sink.close?.();
    }
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
      const { signal } = this.#cut;
      await publishPending(this.#outbox, this.#publication, { isEnough: () => !this.#isActive, signal });
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
