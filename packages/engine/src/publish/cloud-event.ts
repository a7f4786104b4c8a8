import { type CallAnswer, entryOf, type JsonObject } from "@sallyport/protocol";
import type { CallIdentity, CallIntent } from "../ports/calls.ts";
import type { EventBatch } from "../ports/outbox.ts";

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

/**
 * A call's CloudEvents as JSON, with the data L3 §4.3 asks for, in order. They are put together as text, which takes
 * less time: much of it is the same in each event, and the input of a call is JSON already.
 */
export function callEvents({ call, began, answer }: Told): string[] {
  const known = knownOf(call);
  const events: string[] = [];
  if (began) events.push(eventJson("tool.invoked", { known, at: began.startedAt }, invoked(began)));
  if (!answer) return events;
  const at = answer.completedAt;
  const data = ended(answer);
  for (const type of endTypes(answer)) events.push(eventJson(type, { known, at }, data));
  return events;
}

function endTypes({ status }: CallAnswer): string[] {
  if (status === "success") return ["tool.succeeded"];
  return status === "timeout" ? ["tool.failed", "tool.timeout"] : ["tool.failed"];
}

/** What all events of a call say. */
interface Known {
  callId: string;
  /** As JSON. */
  tenant: string;
  /** The members of the data, as JSON. */
  identity: string;
}

function knownOf({ callId, agent, tenant, tool, version }: CallIdentity): Known {
  const identity: JsonObject = {
    invocation_id: callId,
    agent_did: agent,
    tenant_id: tenant,
    tool_id: tool,
    tool_version: version,
  };
  return { callId, tenant: JSON.stringify(tenant), identity: JSON.stringify(identity).slice(1, -1) };
}

/** `data`: further members, as JSON. */
function eventJson(type: string, { known, at }: { known: Known; at: number }, data: string): string {
  const { callId, tenant, identity } = known;
  const id = JSON.stringify(type === "tool.invoked" ? callId : `${callId}:${type}`);
  const time = new Date(at).toISOString();
  return `{"specversion":"1.0","id":${id},"type":"ai.agent.${type}","source":"tool-execution-layer","time":"${time}","datacontenttype":"application/json","partitionkey":${tenant},"data":{${identity},${data}}}`;
}

/** A sink that bounds its messages would refuse a larger event for ever, and everything behind it would wait. */
const MOST_PARAMETERS = 256 * 1024;

function invoked({ operation, asyncMode = false, priority = "normal", input, inputHash }: BegunCall): string {
  const facts = `"operation":${JSON.stringify(operation)},"async_mode":${asyncMode},"priority":"${priority}"`;
  if (input.length <= MOST_PARAMETERS) return `${facts},"parameters":${input}`;
  const omitted = JSON.stringify({ characters: input.length, sha256: inputHash });
  return `${facts},"parameters":null,"parameters_omitted":${omitted}`;
}

function ended(answer: CallAnswer): string {
  const { durationMs, cpuMs, memoryPeakBytes } = answer.usage;
  const used = {
    duration_ms: durationMs,
    cpu_used_millicore_seconds: Math.round(cpuMs),
    memory_peak_mb: Math.ceil(memoryPeakBytes / 2 ** 20),
  };
  return `${summary(answer)},"execution_metadata":${JSON.stringify(used)}`;
}

function summary(answer: CallAnswer): string {
  if (answer.status === "success")
    return `"result_summary":${JSON.stringify(`${answer.tool} ${answer.operation} succeeded`)}`;
  const { error } = answer;
  const told = { code: entryOf(error).kind, message: error.message, retryable: error.retryable };
  return `"error":${JSON.stringify(told)}`;
}
