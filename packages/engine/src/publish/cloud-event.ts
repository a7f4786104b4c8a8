import { type CallAnswer, entryOf, type JsonObject } from "@sallyport/protocol";
import type { CallIdentity, CallIntent } from "../ports/calls.ts";
import type { CloudEvent, EventBatch } from "../ports/outbox.ts";

/** What is told of a call that begins. */
type BegunCall = CallIdentity &
  Pick<CallIntent, "input" | "inputHash" | "startedAt" | "asyncMode" | "priority">;

/** What a unit says of a call. */
interface Told {
  call: CallIdentity;
  /** With this unit the call begins. */
  began?: BegunCall | undefined;
  /** With this unit the call ends. */
  answer?: CallAnswer | undefined;
}

/** Builds the events of units, for the sinks that are configured. Without a sink nothing is built. */
export class EventBuilder {
  readonly #sinks: readonly string[];

  constructor(sinks: readonly string[]) {
    this.#sinks = sinks;
  }

  /** The events of a call that begins, ends, or does both in one unit; undefined when nobody is to get them. */
  batch(told: Told): EventBatch | undefined {
    return this.#sinks.length === 0 ? undefined : { sinks: this.#sinks, events: callEvents(told) };
  }
}

/** A call's CloudEvents as JSON, with the data L3 §4.3 asks for, in order. */
export function callEvents({ call, began, answer }: Told): string[] {
  const events: string[] = [];
  if (began) events.push(eventJson("tool.invoked", { call, at: began.startedAt }, invoked(began)));
  if (!answer) return events;
  const at = answer.completedAt;
  const data = JSON.stringify({ ...identity(call), ...ended(answer) });
  for (const type of endTypes(answer)) events.push(eventJson(type, { call, at }, data));
  return events;
}

function endTypes({ status }: CallAnswer): string[] {
  if (status === "success") return ["tool.succeeded"];
  return status === "timeout" ? ["tool.failed", "tool.timeout"] : ["tool.failed"];
}

function eventJson(type: string, { call, at }: { call: CallIdentity; at: number }, data: string): string {
  const attributes: Omit<CloudEvent, "data"> = {
    specversion: "1.0",
    id: type === "tool.invoked" ? call.callId : `${call.callId}:${type}`,
    type: `ai.agent.${type}`,
    source: "tool-execution-layer",
    time: new Date(at).toISOString(),
    datacontenttype: "application/json",
    partitionkey: call.tenant,
  };
  return withMember(JSON.stringify(attributes), "data", data);
}

/** Adds a member whose value is JSON already: the input of a call is not parsed again only to become text again. */
function withMember(object: string, name: string, json: string): string {
  return `${object.slice(0, -1)},"${name}":${json}}`;
}

function identity({ callId, agent, tenant, tool, version }: CallIdentity): JsonObject {
  return {
    invocation_id: callId,
    agent_did: agent,
    tenant_id: tenant,
    tool_id: tool,
    tool_version: version,
  };
}

/** A sink that bounds its messages would refuse a larger event for ever, and everything behind it would wait. */
const MOST_PARAMETERS = 256 * 1024;

function invoked(call: BegunCall): string {
  const { operation, asyncMode = false, priority = "normal", input, inputHash } = call;
  const facts = { ...identity(call), operation, async_mode: asyncMode, priority };
  if (input.length <= MOST_PARAMETERS) return withMember(JSON.stringify(facts), "parameters", input);
  const parameters_omitted = { characters: input.length, sha256: inputHash };
  return JSON.stringify({ ...facts, parameters: null, parameters_omitted });
}

function ended(answer: CallAnswer): JsonObject {
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
