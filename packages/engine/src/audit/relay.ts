import { type CallAnswer, entryOf, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { CallReader, CallRecord } from "../ports/calls.ts";
import type { CloudEvent, EventSink, OutboxReader, OutboxType, PendingMessage } from "../ports/store.ts";

/** More at a time would hold up the calls that run meanwhile; less would sync the sink more often. */
const BATCH = 400;

/**
 * Sends what waits in the outbox, oldest first; what comes in the meantime may be left for the next time. A message
 * leaves the outbox only after the sink has it, so none is lost and some may be sent twice. Stops early once it has sent
 * `most`. Resolves with the number sent; rejects when the sink does.
 */
export async function relayOutbox(
  store: { outbox: OutboxReader; calls: CallReader },
  sink: EventSink,
  { most = Number.POSITIVE_INFINITY }: { most?: number } = {},
): Promise<number> {
  let sent = 0;
  for (;;) {
    const messages = await store.outbox.pending(BATCH);
    const last = messages.at(-1);
    if (!last) return sent;
    await sink.send(await eventsFor(messages, store.calls));
    await store.outbox.delivered(last.position);
    sent += messages.length;
    if (messages.length < BATCH || sent >= most) return sent;
  }
}

/** A call has several messages, mostly one after the other, and is read once for all of them. */
async function eventsFor(messages: readonly PendingMessage[], calls: CallReader): Promise<CloudEvent[]> {
  const events: CloudEvent[] = [];
  let record: CallRecord | undefined;
  for (const { callId, type } of messages) {
    if (record?.callId !== callId) record = await calls.get(callId);
    if (record) events.push(cloudEvent(type, record));
  }
  return events;
}

/** A call's CloudEvent, with the data L3 §4.3 asks for. */
function cloudEvent(type: OutboxType, record: CallRecord): CloudEvent {
  const at = type === "tool.invoked" ? record.startedAt : (record.closing?.closedAt ?? record.startedAt);
  return {
    specversion: "1.0",
    id: type === "tool.invoked" ? record.callId : `${record.callId}:${type}`,
    type: `ai.agent.${type}`,
    source: "tool-execution-layer",
    time: new Date(at).toISOString(),
    datacontenttype: "application/json",
    partitionkey: record.tenant,
    data: { ...identity(record), ...(type === "tool.invoked" ? invoked(record) : ended(record)) },
  };
}

function identity(record: CallRecord): JsonObject {
  return {
    invocation_id: record.callId,
    agent_did: record.agent,
    tenant_id: record.tenant,
    tool_id: record.tool,
    tool_version: record.version,
  };
}

function invoked(record: CallRecord): JsonObject {
  const { operation, input, asyncMode = false, priority = "normal" } = record;
  return { operation, parameters: JSON.parse(input) as JsonValue, async_mode: asyncMode, priority };
}

function ended({ closing }: CallRecord): JsonObject {
  if (!closing) return {};
  const { answer } = closing;
  const { usage } = answer;
  const execution_metadata = {
    duration_ms: usage.durationMs,
    cpu_used_millicore_seconds: Math.round(usage.cpuMs),
    memory_peak_mb: Math.ceil(usage.memoryPeakBytes / 2 ** 20),
  };
  return { ...summary(answer), execution_metadata };
}

function summary(answer: CallAnswer): JsonObject {
  if (answer.status === "success") return { result_summary: `${answer.tool} ${answer.operation} succeeded` };
  const { error } = answer;
  return { error: { code: entryOf(error).kind, message: error.message, retryable: error.retryable } };
}
