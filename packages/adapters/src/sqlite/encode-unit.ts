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

/** Roughly how many bytes a job takes while it waits. */
export function jobBytes(job: UnitJob): number {
  const [, , open, close, state, tools, audit, outbox, begin, permits, uses, enqueue, callbacks] = job;
  let bytes = 512 + (audit?.length ?? 0) + (outbox?.[1].length ?? 0);
  for (const cell of open ?? []) bytes += typeof cell === "string" ? cell.length : 8;
  for (const cell of close ?? []) bytes += typeof cell === "string" ? cell.length : 8;
  for (const cell of begin ?? []) bytes += typeof cell === "string" ? cell.length : 8;
  for (const cell of enqueue ?? []) bytes += typeof cell === "string" ? cell.length : 8;
  for (const [grantId] of uses ?? []) bytes += grantId.length + 8;
  for (const [key, value] of state?.writes ?? []) bytes += key.length + (value?.length ?? 0);
  if (permits) bytes += permitBytes(permits);
  if (callbacks) bytes += callbackBytes(callbacks);
  for (const { id, body } of job[16]?.rows ?? []) bytes += id.length + (body?.length ?? 0) + 64;
  return bytes + (tools?.length ?? 0) * 4096;
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

/** Roughly how many bytes they take while they wait. */
function callbackBytes(rows: readonly CallbackRow[]): number {
  let bytes = 0;
  for (const { cells } of rows) {
    for (const cell of cells) bytes += typeof cell === "string" ? cell.length : 8;
  }
  return bytes;
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

/** Roughly how many bytes they take while they wait. */
function permitBytes({ approvals, grants, revocations }: PermitJob): number {
  let bytes = 64 * (approvals.length + grants.length + revocations.length);
  for (const { record, order } of approvals) bytes += record.length + (order?.length ?? 0);
  for (const { record } of grants) bytes += record.length;
  for (const [jti, record] of revocations) bytes += jti.length + record.length;
  return bytes;
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
