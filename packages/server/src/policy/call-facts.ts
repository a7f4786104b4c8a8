import type { CallRecord, PartialCall, ToolRecord } from "@sallyport/engine";
import type { Conduct, JsonValue, OperationManifest, ToolManifest } from "@sallyport/protocol";

/** What a manifest says of a call of one of its operations. */
export function manifestFacts(manifest: ToolManifest, operation: string): PartialCall {
  const { id, version, category, tags, source, securityLevel, permissions } = manifest;
  const own: Partial<OperationManifest> = manifest.operations[operation] ?? {};
  return {
    tool: id,
    version,
    operation,
    category,
    tags,
    source: source.type,
    securityLevel,
    permissions,
    ...conductFacts({ ...manifest, ...own }),
  };
}

export function conductFacts({
  requiredCapabilities,
  sideEffects,
  risk,
}: Pick<Conduct, "requiredCapabilities" | "sideEffects" | "risk">): PartialCall {
  return { capabilities: requiredCapabilities, sideEffects, risk };
}

/** A recorded call as it could be asked about again. */
export interface RecordedCall {
  call: PartialCall;
  /** Something in the input was taken out before it was recorded, so the answer may differ from the real one. */
  redacted: boolean;
  /** The manifest it ran with is not here any more. */
  strange: boolean;
}

/** Puts a recorded call and its manifest together. */
export function recordedCall(record: CallRecord, tool: ToolRecord | undefined): RecordedCall {
  const { tenant, agent, user, session, version, operation, sideEffects, startedAt } = record;
  const known = tool?.manifestHash === record.manifestHash ? tool : undefined;
  const call: PartialCall = {
    ...(known && manifestFacts(known.manifest, operation)),
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
    at: startedAt,
  };
  return { call, redacted: record.input.includes("[REDACTED]"), strange: known === undefined };
}
