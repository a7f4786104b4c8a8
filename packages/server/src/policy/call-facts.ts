import type { ResolvedTool } from "@sallyport/engine";
import { type PartialCall, unheldInProcess } from "@sallyport/engine/host";
import type { CallRecord } from "@sallyport/engine/ports";
import type { JsonValue } from "@sallyport/protocol";

/** What is known of a call from the tool it goes to. */
export function toolFacts(tool: ResolvedTool): PartialCall {
  const { manifest, record, operationName, traits } = tool;
  const { id, version, category, tags, source, securityLevel, permissions } = manifest;
  return {
    tool: id,
    version,
    operation: operationName,
    manifestHash: record.manifestHash,
    category,
    tags,
    source: source.type,
    securityLevel,
    permissions,
    capabilities: traits.requiredCapabilities,
    sideEffects: traits.sideEffects,
    risk: traits.risk,
    unheldLimits: unheldInProcess(tool.implementation),
  };
}

/** A recorded call as it could be asked about again. */
export interface RecordedCall {
  call: PartialCall;
  /** Something in the input was taken out before it was recorded, so the answer may differ from the real one. */
  redacted: boolean;
  /** The manifest it ran with is not here any more, so little is known of the tool. */
  strange: boolean;
}

/** Puts a recorded call together with the tool of that name and version, if it is still the same one. */
export function recordedCall(record: CallRecord, tool: ResolvedTool | undefined): RecordedCall {
  const { tenant, agent, user, session, version, operation, sideEffects } = record;
  const same = tool?.record.manifestHash === record.manifestHash ? tool : undefined;
  const call: PartialCall = {
    ...(same && toolFacts(same)),
    tool: record.tool,
    version,
    operation,
    sideEffects,
    tenant,
    agent,
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session }),
    manifestHash: record.manifestHash,
    isolation: record.closing?.answer.isolation?.level ?? "LEVEL_0",
    input: JSON.parse(record.input) as JsonValue,
    at: record.startedAt,
  };
  return { call, redacted: record.input.includes("[REDACTED]"), strange: same === undefined };
}
