import type {
  ApprovalWrite,
  CallbackWrite,
  CallClosing,
  CallIntent,
  CallRecord,
  GrantUse,
  GrantWrite,
  RecordWrite,
  Revocation,
  StateWrites,
  ToolWrite,
  UnitOfWork,
} from "@sallyport/engine/ports";
import { PRIORITIES } from "@sallyport/protocol";
import { encodeAnswer, encodeKnown, encodeTimeline } from "../store-rows/answer-text.ts";
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
  Revised,
  RunJob,
  StateJob,
  ToolRow,
  UnitJob,
} from "./messages.ts";
import { encodeBatch, sinkList } from "./outbox-text.ts";
import { wellFormedOrder } from "./well-formed-order.ts";

/** When a unit is written, by the store's clock, and how long outdated state is kept. */
export type WriteTime = Pick<StateJob, "at" | "retentionMs">;

/** Flattens a unit for the writer thread. Throws when something in it is not JSON; nothing is written then. */
export function encodeUnit(unit: UnitOfWork, { at, retentionMs }: WriteTime): UnitJob {
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
    encodeEnqueued(unit),
    encodeCallbacks(unit.callbacks),
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
  const isLimited = limit.maxUses !== undefined || (limit.rates?.length ?? 0) > 0;
  return [grantId, at, callId ?? null, isLimited ? limit : null];
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
  const lastOfEach = new Map<string, string | null>();
  for (const { key, value } of writes) {
    lastOfEach.set(key, value === undefined ? null : JSON.stringify(value));
  }
  const existed = writes.filter((write) => write.existed).map(({ key }) => key);
  const { tenant, tool } = scope;
  return { tenant, tool, callId, snapshotVersion, writes: [...lastOfEach], existed };
}

/** Throws when the version does not follow the revision it expects. */
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
    expect: revised(`${id} ${version}`, { revision, expect }).expect,
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

/** Flattens the callbacks of a unit; null when it has none. Throws when one counts backwards: a mistake, never a race. */
function encodeCallbacks(writes: readonly CallbackWrite[] | undefined): CallbackRow[] | null {
  return writes?.length ? writes.map(callbackRow) : null;
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
  if (attempts < (expect ?? 0)) {
    throw new RangeError(`The callback of ${callId} counts ${attempts} attempts after ${expect}.`);
  }
  return { expect: expect ?? null, cells: [callId, tenant, url, state, attempts, dueAt, problem ?? null] };
}

/** Throws when a text is one that not every store can keep. */
function recordRow({ kind, id, body, expiresAt, expect }: RecordWrite): RecordRow {
  for (const text of [kind, id, body ?? ""]) {
    if (!text.isWellFormed() || text.includes("\0")) {
      throw new RangeError(`The record ${id} is not well-formed text without U+0000.`);
    }
  }
  return { kind, id, body, expiresAt: expiresAt ?? null, expect: expect ?? null };
}

/**
 * Flattens the approvals, grants and revocations of a unit; null when it has none. Throws when something in them is
 * not JSON, or does not follow the revision it expects.
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
    ...revised(approvalId, { revision, expect }),
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
    ...revised(grantId, { revision, expect }),
    record: JSON.stringify(record),
    counts: [uses, lastUsedAt ?? null],
  };
}

function revocationCells(revocation: Revocation): [jti: string, record: string] {
  return [JSON.stringify(revocation.jti), JSON.stringify(revocation)];
}

/** A revision that is not the one after what the write expects is a mistake of the writer, never a race. */
function revised(id: string, write: { revision: number; expect: number | undefined }): Revised {
  const { revision, expect } = write;
  if (revision === (expect ?? 0) + 1) return { id, revision, expect: expect ?? null };
  throw new RangeError(
    `The write of ${id} on revision ${expect ?? "none"} calls itself revision ${revision}.`,
  );
}

/**
 * The place in the queue that a unit gives to the call it opens; null when it gives none. Throws unless a call is opened
 * as queued and given its place by the same unit: one without the other is a mistake of the writer.
 */
function encodeEnqueued({ open, enqueue }: UnitOfWork): QueuedCells | null {
  const queued = open?.phase === "queued" ? open.callId : undefined;
  if (enqueue === undefined) {
    if (queued === undefined) return null;
    throw new RangeError(`The unit opens the call ${queued} as queued and gives it no place in the queue.`);
  }
  const { callId, tenant, agent, tool, priority, queuedAt, claimedBy } = enqueue;
  if (callId === queued) {
    const [order, urgency] = [wellFormedOrder(enqueue.order), PRIORITIES.indexOf(priority)];
    return [callId, tenant, agent, tool, priority, queuedAt, order, urgency, claimedBy ?? null];
  }
  throw new RangeError(`The unit queues the call ${callId} and does not open it as queued.`);
}
