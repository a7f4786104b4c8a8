import type { EventSink, OutgoingEvent } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import { parcels } from "./parcels.ts";

type Driver = typeof import("@platformatic/kafka");
type Producer = import("@platformatic/kafka").Producer<Buffer, Buffer, Buffer, Buffer>;

export interface KafkaConnection {
  /** Left out: plain TCP. An empty object: TLS with the certificates that Node trusts. */
  tls?: { ca?: string; cert?: string; key?: string; servername?: string };
  sasl?: { mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512"; username: string; password: string };
}

export interface KafkaSinkOptions {
  /** `host:port` of at least one broker. */
  brokers: string[];
  /** It must exist: nothing creates it. */
  topic?: string;
  clientId?: string;
  compression?: "none" | "gzip" | "snappy" | "lz4" | "zstd";
  /** How to connect; a function is asked each time. */
  connection?: KafkaConnection | (() => KafkaConnection);
  /** For connecting and for each answer of a broker. */
  timeoutMs?: number;
}

const DEFAULT_TOPIC = "tool-execution-events";
const DEFAULT_TIMEOUT_MS = 10_000;
/** Brokers refuse a batch of more than 1 MB (`message.max.bytes`), compressed or not. */
const PARCEL = { most: 1_000, chars: 256 * 1024 };

/**
 * Sends CloudEvents to a Kafka topic in structured mode, keyed by tenant, so that the events of a call stay in order.
 * The producer is idempotent and waits for every in-sync replica. `check` and the first `send` find out whether the topic is there. After
 * a rejection some events may be in the topic; sending them again makes duplicates with the same id, never gaps. A failed
 * producer is closed, and the next `send` opens another.
 */
export function createKafkaSink(
  options: KafkaSinkOptions,
): EventSink & Required<Pick<EventSink, "check" | "close">> & AsyncDisposable {
  let opened: Promise<Producer> | undefined;
  let previous: Promise<unknown> = Promise.resolve();

  const send: EventSink["send"] = async (events, signal) => {
    opened ??= openProducer(options);
    // Without its producer, the parcel under way fails.
    const cut = () => void close();
    signal?.addEventListener("abort", cut);
    try {
      const producer = await opened;
      for (const parcel of parcels(events, PARCEL)) {
        signal?.throwIfAborted();
        await producer.send({ messages: parcel.map((event) => messageOf(event, topicOf(options))) });
      }
    } catch (error) {
      await close();
      signal?.throwIfAborted();
      throw error instanceof SallyportError ? error : unreachable(options, error);
    } finally {
      signal?.removeEventListener("abort", cut);
    }
  };
  const close = async () => {
    const closing = opened;
    opened = undefined;
    const producer = await closing?.catch(() => undefined);
    await producer?.close(true).catch(() => undefined);
  };
  // One batch after the other: of two at once a failing one could end up behind the other.
  const inTurn: EventSink["send"] = (events, signal) => {
    const turn = previous.then(() => send(events, signal));
    previous = turn.catch(() => undefined);
    return turn;
  };
  const closeAfterwards = async () => {
    await previous;
    await close();
  };
  return {
    send: (events, signal) => (events.length === 0 ? Promise.resolve() : inTurn(events, signal)),
    check: () => inTurn([]),
    close: closeAfterwards,
    [Symbol.asyncDispose]: closeAfterwards,
  };
}

async function openProducer(options: KafkaSinkOptions): Promise<Producer> {
  const { Producer, ProduceAcks } = await loadDriver();
  const { brokers, clientId = "sallyport", compression = "gzip", connection = {} } = options;
  const { tls, sasl } = typeof connection === "function" ? connection() : connection;
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const producer = new Producer({
    clientId,
    bootstrapBrokers: brokers,
    idempotent: true,
    acks: ProduceAcks.ALL,
    compression,
    autocreateTopics: false,
    timeout: timeoutMs,
    connectTimeout: timeoutMs,
    retries: 2,
    ...(tls && { tls }),
    ...(sasl && { sasl }),
  });
  try {
    await requireTopic(producer, options);
    return producer;
  } catch (error) {
    await producer.close(true).catch(() => undefined);
    throw error;
  }
}

/** The driver is an optional dependency: it is needed only where Kafka is configured. */
async function loadDriver(): Promise<Driver> {
  try {
    return await import("@platformatic/kafka");
  } catch (cause) {
    const message = "Kafka is configured, and the package @platformatic/kafka is not installed.";
    const advice = "Run this where Sallyport is installed: npm install @platformatic/kafka";
    throw new SallyportError(failure("E3304", { message, advice }), { cause });
  }
}

async function requireTopic(producer: Producer, options: KafkaSinkOptions): Promise<void> {
  const topic = topicOf(options);
  const { topics } = await producer.metadata({ topics: [topic], autocreateTopics: false });
  if ((topics.get(topic)?.partitionsCount ?? 0) === 0) throw new Error(`the topic ${topic} does not exist`);
}

function topicOf({ topic = DEFAULT_TOPIC }: KafkaSinkOptions): string {
  return topic;
}

function messageOf({ tenant, json }: OutgoingEvent, topic: string) {
  return {
    topic,
    key: Buffer.from(tenant),
    value: Buffer.from(json),
    headers: new Map([
      [Buffer.from("content-type"), Buffer.from("application/cloudevents+json; charset=UTF-8")],
    ]),
  };
}

/** Drivers put what they were configured with into errors: only the reason is passed on, never a credential. */
function unreachable(options: KafkaSinkOptions, cause: unknown): SallyportError {
  const reason = reasonOf(cause);
  const message = `Kafka (${options.brokers.join(", ")}) did not take the events: ${reason}.`;
  const advice = `Check the brokers, the credentials and the topic ${topicOf(options)}; the events wait in the outbox.`;
  return new SallyportError(failure("E3304", { message, advice }));
}

/** The innermost reason says most: `UNKNOWN_TOPIC_OR_PARTITION` instead of "3 errors". */
function reasonOf(error: unknown): string {
  let reason = error;
  for (let depth = 0; depth < 8; depth += 1) {
    const { errors, cause } = reason as { errors?: unknown[]; cause?: unknown };
    const inner = errors?.[0] ?? cause;
    if (!(inner instanceof Error)) break;
    reason = inner;
  }
  const text = (reason instanceof Error ? reason.message : String(reason)).replace(/\.$/, "");
  return text.replace(/^Unknown topic (\S+)$/, "the topic $1 does not exist");
}
