import { lifecycleAt } from "@sallyport/engine/host";
import type { Retirement, ToolRecord } from "@sallyport/engine/ports";
import {
  defined,
  isFailure,
  type OperationManifest,
  type ToolDeprecation,
  type ToolManifest,
  type ToolOperation,
  type ToolStatus,
  type ToolSummary,
  type ToolVersion,
  type Traits,
} from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import { mayKnowAll } from "./call-request.ts";
import { iso, isoIfAny } from "./iso-time.ts";
import { hasLoadedCode } from "./known-tools.ts";
import type { RouteContext } from "./parts.ts";

/** Whether a call can get this version now. */
function isCallable(record: ToolRecord, now: number, parts: RouteContext): boolean {
  const { retirement, quarantine } = record;
  return statusOf(record, parts) === "active" && !quarantine && lifecycleAt(retirement, now) !== "removed";
}

/** What an active tool says of itself counts only while calls can reach it. */
function statusOf({ manifest }: ToolRecord, parts: RouteContext): ToolStatus {
  return manifest.status !== "active" || hasLoadedCode(manifest, parts) ? manifest.status : "inactive";
}

/** A tool in a list: its newest version that can be called, and which others can. */
export function toolSummary(
  current: ToolManifest,
  records: readonly ToolRecord[],
  parts: RouteContext,
): ToolSummary {
  const now = parts.clock.now();
  const callable = records.filter((record) => isCallable(record, now, parts));
  const operations = Object.values(current.operations);
  return {
    tool_id: current.id,
    tool_name: current.name,
    description: current.description,
    category: current.category,
    versions: callable.map(({ manifest }) => manifest.version),
    latest_version: current.version,
    tags: [...current.tags],
    requires_approval: operations.some((one) => one.requiresApproval ?? current.requiresApproval),
  };
}

/**
 * One version with everything a caller has to know to use it. Why it is in quarantine is told to those alone who may know
 * all: the reason may tell of another tenant's call.
 */
export function toolVersion(record: ToolRecord, principal: Principal, parts: RouteContext): ToolVersion {
  const { manifest, retirement, quarantine } = record;
  const { tools } = parts.engine;
  const operations = Object.entries(manifest.operations).map(([name, operation]) => {
    const found = tools.resolve({ tool: manifest.id, version: manifest.version, operation: name });
    const traits = isFailure(found) ? manifest : found.traits;
    return [name, toolOperation(operation, traits)] as const;
  });
  return {
    version: manifest.version,
    lifecycle: lifecycleAt(retirement, parts.clock.now()),
    status: statusOf(record, parts),
    ...(quarantine && {
      quarantine: {
        at: iso(quarantine.at),
        ...(mayKnowAll(principal, parts) && { reason: quarantine.reason }),
      },
    }),
    ...defined({ deprecation: deprecationOf(retirement) }),
    operations: Object.fromEntries(operations),
    security_level: manifest.securityLevel,
    timeout_ms: manifest.limits.timeoutMs,
    manifest_hash: record.manifestHash,
    registered_at: iso(record.registeredAt),
    ...defined({ release_notes: manifest.releaseNotes }),
  };
}

/** What holds for a call of the operation; of a version that cannot be called, what it says of itself. */
function toolOperation(operation: OperationManifest, traits: Traits): ToolOperation {
  const held = { ...traits, ...defined(operation) };
  return {
    description: operation.description,
    input_schema: operation.inputSchema,
    ...defined({ output_schema: operation.outputSchema }),
    side_effects: held.sideEffects,
    idempotent: held.idempotent,
    requires_approval: held.requiresApproval,
    risk: held.risk,
    required_capabilities: [...held.requiredCapabilities],
  };
}

function deprecationOf(retirement: Retirement): ToolDeprecation | undefined {
  const { deprecatedAt, sunsetAt, removedAt, replacement, guidance } = retirement;
  const deprecation = defined({
    deprecated_at: isoIfAny(deprecatedAt),
    sunset_at: isoIfAny(sunsetAt),
    removed_at: isoIfAny(removedAt),
    replacement,
    guidance,
  });
  return Object.keys(deprecation).length > 0 ? deprecation : undefined;
}
