import { hash } from "node:crypto";
import type { CallIntent } from "../ports/calls.ts";
import type { GrantUse } from "../ports/grants.ts";
import type { ResolvedTool } from "../registry/index.ts";
import type { Attempt } from "./attempt.ts";
import type { CallRequest, House } from "./house.ts";

/** Digest of everything that makes two requests the same request. */
export function requestDigest({ tool, version, operation, dryRun }: CallRequest, inputHash: string): string {
  const parts = [tool, version ?? null, operation ?? null, inputHash, ...(dryRun ? ["dry run"] : [])];
  return hash("sha256", JSON.stringify(parts));
}

/** The stored grants the call runs by, each used once. */
export function usesOf({ facts, startedAt }: Attempt): GrantUse[] {
  const { decision } = facts;
  return (decision?.counted ?? decision?.grants ?? []).map((grantId) => ({ grantId, at: startedAt }));
}

/** A key belongs to the agent that uses it. */
export function keyOf({ caller, idempotencyKey }: CallRequest): string | undefined {
  return idempotencyKey === undefined
    ? undefined
    : JSON.stringify([caller.tenant, caller.agent, idempotencyKey]);
}

/** What the journal is told of a call. Only a call that reaches execution binds its idempotency key. */
export function intentOf(attempt: Attempt, tool: ResolvedTool, house: House): CallIntent {
  const { request, facts } = attempt;
  const { caller } = request;
  return {
    callId: attempt.callId,
    tenant: caller.tenant,
    agent: caller.agent,
    ...(caller.user !== undefined && { user: caller.user }),
    ...(caller.session !== undefined && { session: caller.session }),
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
    manifestHash: tool.record.manifestHash,
    sideEffects: tool.conduct.sideEffects,
    input: attempt.received.text,
    inputHash: facts.inputHash,
    ...(request.callbackUrl !== undefined && { callbackUrl: request.callbackUrl }),
    ...(request.idempotencyKey !== undefined && { requestDigest: requestDigest(request, facts.inputHash) }),
    ...(request.asyncMode && { asyncMode: true }),
    ...(request.priority !== undefined && request.priority !== "normal" && { priority: request.priority }),
    owner: house.owner,
    attempt: attempt.number,
    startedAt: attempt.startedAt,
  };
}
