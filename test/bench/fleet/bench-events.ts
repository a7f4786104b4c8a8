import { Admin, ProduceAcks, Producer } from "@platformatic/kafka";
import { createKafkaSink } from "@sallyport/adapters/events";
import type { OutgoingEvent } from "@sallyport/engine/ports";
import { reasonToSkip, startService } from "../../../scripts/services.ts";
import { guardedContender, inMemory } from "../guarded.ts";
import { type Contender, MANY_CALLERS, measure, median, type Reading } from "../measure.ts";

export interface EventRow {
  name: string;
  perSecond: number;
  /** For one send. */
  p50Ms: number;
  /** Processor time of this process for one event. */
  cpuUs: number;
  ofBare: number;
}

/** The calls whose events the publisher sends at once. */
const CALLS = 400;
const SENDS = 40;
const TOPIC = "tool-execution-events";

/** Events through the sink into a real Kafka, against the driver's producer with the same events, made ready before. */
export async function benchEvents(rounds: number): Promise<EventRow[]> {
  const why = reasonToSkip("kafka");
  if (why) {
    console.log(`Events into Kafka: not available, ${why}`);
    return [];
  }
  await using kafka = await startService("kafka");
  const broker = `127.0.0.1:${kafka.port}`;
  await createTopic(broker);
  const events = await eventsOfCalls();
  const contenders = [bareProducer(broker, events), sink(broker, events)];
  const readings = await race(contenders, rounds);
  for (const { close } of contenders) await close?.();
  const perSecond = (contender: Contender | undefined) =>
    events.length * median((contender && readings.get(contender)) ?? [], "perSecond");
  return contenders.map((contender) => ({
    name: contender.name,
    perSecond: perSecond(contender),
    p50Ms: median(readings.get(contender) ?? [], "p50Us") / 1_000,
    cpuUs: middle((readings.get(contender) ?? []).map(({ cpuUs }) => cpuUs)) / events.length,
    ofBare: perSecond(contender) / perSecond(contenders[0]),
  }));
}

/** With the processor time of a send. */
interface SendReading extends Reading {
  cpuUs: number;
}

/** The first round warms up. */
async function race(
  contenders: readonly Contender[],
  rounds: number,
): Promise<Map<Contender, SendReading[]>> {
  const readings = new Map<Contender, SendReading[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round <= rounds; round += 1)
    for (const contender of contenders) {
      const before = process.cpuUsage();
      const reading = await measure(contender, 1, SENDS);
      const { user, system } = process.cpuUsage(before);
      if (round > 0) readings.get(contender)?.push({ ...reading, cpuUs: (user + system) / SENDS });
    }
  return readings;
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function createTopic(broker: string): Promise<void> {
  const admin = new Admin({ clientId: "bench", bootstrapBrokers: [broker] });
  await admin.createTopics({ topics: [TOPIC], partitions: 3, replicas: 1 });
  await admin.close();
}

/** The events of real calls, as the outbox hands them to a sink. */
async function eventsOfCalls(): Promise<OutgoingEvent[]> {
  const store = inMemory();
  const sinks = ["bench"];
  const calling = await guardedContender({ name: "calls", store, runner: "inline", sinks });
  await measure(calling, MANY_CALLERS, CALLS);
  const batches = await store.outbox.pending({ sink: "bench", instance: "bench", limit: CALLS });
  await calling.close?.();
  return batches.flatMap(({ tenant, events }) => events.map((json) => ({ tenant, json })));
}

function sink(broker: string, events: readonly OutgoingEvent[]): Contender {
  const kafka = createKafkaSink({ brokers: [broker], topic: TOPIC });
  return {
    name: "the Kafka sink",
    call: () => kafka.send(events),
    close: async () => await kafka[Symbol.asyncDispose](),
  };
}

/** With the sink's own settings; nothing is turned into bytes while the clock runs. */
function bareProducer(broker: string, events: readonly OutgoingEvent[]): Contender {
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId: "bench",
    bootstrapBrokers: [broker],
    idempotent: true,
    acks: ProduceAcks.ALL,
    compression: "gzip",
  });
  const messages = events.map(({ tenant, json }) => ({
    topic: TOPIC,
    key: Buffer.from(tenant),
    value: Buffer.from(json),
  }));
  return {
    name: "bare @platformatic/kafka producer",
    call: () => producer.send({ messages }),
    close: () => producer.close(),
  };
}

/** As a table for people. */
export function printEvents(rows: readonly EventRow[]): void {
  console.log(`\nEvents into Kafka, the events of ${CALLS} calls at once`);
  console.table(
    Object.fromEntries(
      rows.map(({ name, perSecond, p50Ms, cpuUs, ofBare }) => [
        name,
        {
          "events/s": Math.round(perSecond),
          "p50 ms/send": p50Ms.toFixed(1),
          "cpu µs/event": cpuUs.toFixed(1),
          "× bare": ofBare.toFixed(2),
        },
      ]),
    ),
  );
}
