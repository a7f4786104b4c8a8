import {
  type ApprovalWrite,
  type CallbackWrite,
  type CallClosing,
  type CallIntent,
  type CallRecord,
  type GrantUse,
  type GrantWrite,
  partitionOf,
  type RecordWrite,
  requireValidUnit,
  type StateWrites,
  type ToolWrite,
  type UnitOfWork,
} from "@sallyport/engine/ports";
import { PRIORITIES } from "@sallyport/protocol";
import { encodeAnswer, encodeKnown, encodeTimeline } from "../store-rows/answer-text.ts";
import { isLimited, lastWrites } from "../store-rows/writes.ts";
import { lost } from "./failures.ts";
import { encodeJson } from "./text.ts";

/** A unit as `commit_units` takes it, and the shared rows it will lock. */
export interface EncodedUnit {
  id: string | undefined;
  /** JSON text. */
  text: string;
  calls: string[];
  grants: string[];
}

/**
 * Flattens a unit: parts that are empty are left out, members of rows have the names of their columns. Throws when
 * something in it is not JSON, or is a mistake of its writer; nothing is written then.
 */
export function encodeUnit(unit: UnitOfWork, keepStateMs: number): EncodedUnit {
  requireValidUnit(unit);
  const limited = some(unit.grantUses?.filter(isLimited))?.map(limitedUse);
  const parts = {
    open: unit.open && openedCall(unit.open),
    enqueue: unit.enqueue && enqueuedCall(unit.enqueue),
    fence: unit.fence,
    begin: unit.begin && intentRow(unit.begin),
    rerun: unit.rerun,
    close: unit.close && closedCall(unit.close),
    cancel: unit.cancel,
    approvals: some(unit.approvals)?.map(approvalRow),
    grants: some(unit.grants)?.map(grantRow),
    limited,
    callbacks: some(unit.callbacks)?.map(callbackRow),
    tools: some(unit.tools)?.map(toolRow),
    records: some(unit.records)?.map(recordRow),
    state: unit.state && stateRow(unit.state, keepStateMs),
  };
  const { open, ...others } = parts;
  const isAlone = !open || Object.entries(others).every(([name, part]) => !part || name === "enqueue");
  const text = JSON.stringify({
    id: unit.id,
    tenant: unit.tenant,
    strand: unit.strand ?? 0,
    ...parts,
    // A call that must not be opened shows when it is inserted; it is looked for before only where another conflict could be.
    look: isAlone ? undefined : true,
    uses: some(unit.grantUses?.filter((use) => !isLimited(use)))?.map(({ grantId, at }) => [grantId, at]),
    returned: some(unit.returnedUses),
    revocations: some(unit.revocations)?.map((one) => ({
      jti: one.jti,
      record: JSON.stringify(one),
      forget_at: one.forgetAt,
    })),
    audit: unit.audit === undefined ? undefined : plainJson(unit.audit),
    ...outboxOf(unit),
  });
  const calls = [unit.fence, unit.begin, unit.close, unit.cancel].flatMap((part) => part?.callId ?? []);
  return {
    id: unit.id,
    text: encodeJson(text),
    calls,
    grants: limited?.map(({ grant_id }) => grant_id) ?? [],
  };
}

function some<Item>(list: readonly Item[] | undefined): readonly Item[] | undefined {
  return list?.length ? list : undefined;
}

/** The hash of a link is over the body as it is kept, so the body must be text that is kept as it is. */
function plainJson(body: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON text never holds
  if (body.isWellFormed() && !/[\u0000\u0001]/.test(body)) return body;
  throw lost("An audit body holds a character that JSON text never holds.");
}

function outboxOf({ outbox, tenant }: UnitOfWork) {
  if (!outbox?.events.length || outbox.sinks.length === 0) return {};
  return { sinks: outbox.sinks, partition: partitionOf(tenant), events: JSON.stringify(outbox.events) };
}

function intentRow(call: CallIntent) {
  return {
    call_id: call.callId,
    tenant_id: call.tenant,
    agent_did: call.agent,
    user_id: call.user,
    session_id: call.session,
    tool_id: call.tool,
    tool_version: call.version,
    operation: call.operation,
    manifest_hash: call.manifestHash,
    side_effects: call.sideEffects,
    parameters: call.input,
    input_hash: call.inputHash,
    idempotency_key: call.idempotencyKey,
    request_digest: call.requestDigest,
    callback_url: call.callbackUrl,
    async_mode: call.asyncMode,
    priority: call.priority,
    owner: call.owner,
    run_id: call.runId,
    staged_in: call.stagedIn,
    attempt: call.attempt,
    started_at: call.startedAt,
    grants: call.grants && JSON.stringify(call.grants),
  };
}

function openedCall({ closing, ...call }: CallRecord) {
  return {
    ...intentRow(call),
    phase: call.phase,
    cancel_reason: call.cancelReason,
    status: closing?.status,
    completed_at: closing?.closedAt,
    output_hash: closing?.outputHash,
    timeline: closing?.timeline && encodeTimeline(closing.timeline),
    answer: closing && encodeAnswer(closing.answer),
  };
}

function closedCall({ callId, phase, from, closing }: CallClosing) {
  return {
    call_id: callId,
    phase,
    from,
    status: closing?.status,
    completed_at: closing?.closedAt,
    output_hash: closing?.outputHash,
    timeline: closing?.timeline && encodeTimeline(closing.timeline),
    answer: closing && encodeAnswer(closing.answer),
    known: closing && encodeKnown(closing.answer),
  };
}

function enqueuedCall(place: NonNullable<UnitOfWork["enqueue"]>) {
  return {
    call_id: place.callId,
    tenant_id: place.tenant,
    agent_did: place.agent,
    tool_id: place.tool,
    priority: place.priority,
    urgency: -PRIORITIES.indexOf(place.priority),
    queued_at: place.queuedAt,
    claimed_by: place.claimedBy,
    call_order: place.order,
  };
}

function approvalRow({ record, expect, order, unattended = false }: ApprovalWrite) {
  const { standing } = record;
  return {
    revision: record.revision,
    expect,
    approval_id: record.approvalId,
    call_id: record.callId,
    tenant_id: record.tenant,
    state: standing.state,
    created_at: record.createdAt,
    expires_at: record.expiresAt,
    ...(standing.state === "reserved" && { reserved_by: standing.owner, reserved_until: standing.until }),
    unattended,
    record: JSON.stringify(record),
    call_order: order,
  };
}

function grantRow({ record, expect }: GrantWrite) {
  const { grantId, revision, uses, lastUsedAt } = record;
  return {
    revision,
    expect,
    grant_id: grantId,
    uses,
    last_used_at: lastUsedAt,
    record: JSON.stringify(record),
  };
}

function limitedUse({ grantId, at, callId, maxUses, rates = [] }: GrantUse) {
  return { grant_id: grantId, used_at: at, call_id: callId, max_uses: maxUses, rates };
}

function callbackRow({ callback, expect }: CallbackWrite) {
  const { callId, tenant, url, state, attempts, dueAt, problem } = callback;
  return { call_id: callId, tenant_id: tenant, url, state, attempts, due_at: dueAt, problem, expect };
}

function toolRow({ record, expect }: ToolWrite) {
  const { manifest, revision } = record;
  return {
    revision,
    expect,
    tool_id: manifest.id,
    version: manifest.version,
    manifest: JSON.stringify(manifest),
    manifest_hash: record.manifestHash,
    retirement: JSON.stringify(record.retirement),
    module: record.module,
    quarantine: record.quarantine && JSON.stringify(record.quarantine),
    registered_at: record.registeredAt,
  };
}

function recordRow({ kind, id, body, expiresAt, expect }: RecordWrite) {
  return { kind, id, body, expires_at: expiresAt, expect };
}

function stateRow({ scope, callId, snapshotVersion, writes }: StateWrites, keepMs: number) {
  const { last, existed } = lastWrites(writes);
  const had = new Set(existed);
  return {
    ...scope,
    callId,
    version: snapshotVersion,
    keepMs,
    writes: last.map(([key, value]) => [key, value, had.has(key)]),
  };
}
