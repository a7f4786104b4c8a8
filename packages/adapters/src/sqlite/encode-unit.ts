import {
  type ApprovalWrite,
  type CallbackWrite,
  type CallClosing,
  type CallIntent,
  type CallRecord,
  type GrantUse,
  type GrantWrite,
  type RecordWrite,
  type Revocation,
  requireValidUnit,
  type StateWrites,
  type ToolWrite,
  type UnitOfWork,
} from "@sallyport/engine/ports";
import { PRIORITIES } from "@sallyport/protocol";
import { encodeAnswer, encodeKnown, encodeTimeline } from "../store-rows/answer-text.ts";
import { isLimited, lastWrites } from "../store-rows/writes.ts";
import { encodeFacts } from "./call-rows.ts";
import { lost } from "./failures.ts";
import type {
  ApprovalRow,
  BegunCall,
  CallbackRow,
  ClosedCall,
  GrantRow,
  GrantUse as GrantUseCells,
  OpenedCall,
  OutboxJob,
  PermitJob,
  QueuedCells,
  RecordRow,
  RunJob,
  StateJob,
  ToolRow,
  UnitJob,
} from "./messages.ts";
import { encodeBatch, sinkList } from "./outbox-text.ts";

/** When a unit is written, by the store's clock, and how long outdated state is kept. */
export type WriteTime = Pick<StateJob, "at" | "retentionMs">;

/** Flattens a unit for the writer thread. Throws when something in it is not JSON; nothing is written then. */
export function encodeUnit(unit: UnitOfWork, { at, retentionMs }: WriteTime): UnitJob {
  requireValidUnit(unit);
  return [
    "unit",
    unit.tenant,
    unit.open ? openedCall(unit.open) : null,
    unit.close ? closedCall(unit.close) : null,
    unit.state ? { ...stateJob(unit.state), at, retentionMs } : null,
    unit.tools ? unit.tools.map(toolRow) : null,
    unit.audit === undefined ? null : onOneLine(unit.audit),
    encodeOutbox(unit),
    unit.begin ? begunCall(unit.begin) : null,
    encodePermits(unit),
    unit.grantUses?.length ? unit.grantUses.map(useCells) : null,
    unit.enqueue ? placeCells(unit.enqueue) : null,
    unit.callbacks?.length ? unit.callbacks.map(callbackRow) : null,
    unit.close?.from ?? null,
    unit.returnedUses?.length ? unit.returnedUses.map(({ grantId, callId }) => [grantId, callId]) : null,
    unit.id ?? null,
    unit.records?.length ? { at, rows: unit.records.map(recordRow) } : null,
    encodeRun(unit),
    unit.strand ?? 0,
  ];
}

/** What a unit says about the run of a call; null when it says nothing. */
function encodeRun({ fence, rerun, cancel }: UnitOfWork): RunJob | null {
  if (!(fence ?? rerun ?? cancel)) return null;
  return {
    ...(fence && { fence: [fence.callId, fence.runId] }),
    ...(rerun && { rerun: [rerun.callId, rerun.runId, rerun.attempt] }),
    ...(cancel && { cancel: [cancel.callId, JSON.stringify(cancel.reason)] }),
  };
}

function useCells({ grantId, at, callId, ...limit }: GrantUse): GrantUseCells {
  return [grantId, at, callId ?? null, isLimited(limit) ? limit : null];
}

/** Roughly how many bytes a job, or a part of one, takes while it waits. */
export function jobBytes(part: unknown): number {
  if (typeof part === "string") return part.length + 8;
  if (typeof part !== "object" || part === null) return 8;
  let bytes = 32;
  if (Array.isArray(part)) for (const one of part) bytes += jobBytes(one);
  else for (const name in part) bytes += jobBytes(Reflect.get(part, name));
  return bytes;
}

function openedCall(call: CallRecord): OpenedCall {
  const { closing } = call;
  return [
    call.callId,
    call.tenant,
    call.agent,
    call.idempotencyKey ?? null,
    call.session ?? null,
    call.tool,
    call.version,
    call.input,
    encodeFacts(call),
    call.startedAt,
    call.phase,
    closing?.status ?? null,
    closing?.closedAt ?? null,
    closing?.outputHash ?? null,
    closing ? encodeAnswer(closing.answer) : null,
    closing?.timeline ? encodeTimeline(closing.timeline) : null,
  ];
}

function begunCall(call: CallIntent): BegunCall {
  return [
    call.callId,
    call.tenant,
    call.agent,
    call.idempotencyKey ?? null,
    call.session ?? null,
    call.tool,
    call.version,
    call.input,
    encodeFacts(call),
  ];
}

function closedCall({ callId, phase, closing }: CallClosing): ClosedCall {
  return [
    callId,
    phase,
    closing?.status ?? null,
    closing?.closedAt ?? null,
    closing?.outputHash ?? null,
    closing ? encodeAnswer(closing.answer) : null,
    closing ? encodeKnown(closing.answer) : null,
    closing?.timeline ? encodeTimeline(closing.timeline) : null,
  ];
}

function stateJob({ scope, callId, snapshotVersion, writes }: StateWrites): Omit<StateJob, keyof WriteTime> {
  const { last, existed } = lastWrites(writes);
  return { tenant: scope.tenant, tool: scope.tool, callId, snapshotVersion, writes: last, existed };
}

function toolRow({ record, expect }: ToolWrite): ToolRow {
  const { manifest, registeredAt, revision } = record;
  const { id, name, description, category, tags, version, source } = manifest;
  return {
    definition: [id, name, description, category, JSON.stringify(tags), version, source.type, registeredAt],
    version: [
      id,
      version,
      JSON.stringify(manifest),
      record.manifestHash,
      JSON.stringify(record.retirement),
      record.module ?? null,
      registeredAt,
      record.quarantine ? JSON.stringify(record.quarantine) : null,
      revision,
    ],
    revision,
    expect: expect ?? null,
  };
}

/** Null for a unit without events, or that no sink gets. */
function encodeOutbox({ tenant, outbox }: UnitOfWork): OutboxJob | null {
  if (!outbox || outbox.events.length === 0 || outbox.sinks.length === 0) return null;
  return [sinkList(outbox.sinks), encodeBatch(tenant, outbox.events)];
}

/** Runs of events are kept as lines; canonical JSON never holds a line break of its own. */
function onOneLine(text: string): string {
  if (!text.includes("\n")) return text;
  throw lost("An audit event holds a line break, so it is not canonical JSON.");
}

function callbackRow({ callback, expect }: CallbackWrite): CallbackRow {
  const { callId, tenant, url, state, attempts, dueAt, problem } = callback;
  return { expect: expect ?? null, cells: [callId, tenant, url, state, attempts, dueAt, problem ?? null] };
}

function recordRow({ kind, id, body, expiresAt, expect }: RecordWrite): RecordRow {
  return { kind, id, body, expiresAt: expiresAt ?? null, expect: expect ?? null };
}

/**
 * Flattens the approvals, grants and revocations of a unit; null when it has none. Throws when something in them is
 * not JSON.
 */
function encodePermits(unit: UnitOfWork): PermitJob | null {
  const { approvals, grants, revocations } = unit;
  if (!(approvals?.length || grants?.length || revocations?.length)) return null;
  return {
    approvals: (approvals ?? []).map(approvalRow),
    grants: (grants ?? []).map(grantRow),
    revocations: (revocations ?? []).map(revocationCells),
  };
}

function approvalRow({ record, expect, order, unattended }: ApprovalWrite): ApprovalRow {
  const { approvalId, callId, tenant, standing, revision, createdAt, expiresAt } = record;
  return {
    id: approvalId,
    revision,
    expect: expect ?? null,
    state: standing.state,
    record: JSON.stringify(record),
    of: [callId, tenant, createdAt],
    order: order && wellFormedOrder(order),
    expiresAt,
    unattended: unattended ? 1 : 0,
  };
}

function grantRow({ record, expect }: GrantWrite): GrantRow {
  const { grantId, revision, uses, lastUsedAt } = record;
  return {
    id: grantId,
    revision,
    expect: expect ?? null,
    record: JSON.stringify(record),
    counts: [uses, lastUsedAt ?? null],
  };
}

function revocationCells(revocation: Revocation): [jti: string, record: string] {
  return [JSON.stringify(revocation.jti), JSON.stringify(revocation)];
}

function placeCells(place: NonNullable<UnitOfWork["enqueue"]>): QueuedCells {
  const { callId, tenant, agent, tool, priority, queuedAt, claimedBy = null } = place;
  const [order, urgency] = [wellFormedOrder(place.order), PRIORITIES.indexOf(priority)];
  return [callId, tenant, agent, tool, priority, queuedAt, order, urgency, claimedBy];
}

/** SQLite keeps UTF-8: an order it cannot hold would come back as another one than was meant, so it is refused. */
function wellFormedOrder(order: string): string {
  if (order.isWellFormed()) return order;
  throw new RangeError("The order of a call is not well-formed text.");
}
