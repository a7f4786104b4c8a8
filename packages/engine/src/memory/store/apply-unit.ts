import type { AuditLink } from "../../ports/audit-log.ts";
import type { CommitResult, Conflict, UnitOfWork } from "../../ports/store.ts";
import { type MemoryApprovals, type PreparedApproval, prepareApproval } from "./memory-approvals.ts";
import type { MemoryAudit } from "./memory-audit.ts";
import { type MemoryCallbacks, requireCountingOn } from "./memory-callbacks.ts";
import { type MemoryGrants, type PreparedGrant, prepareGrant } from "./memory-grants.ts";
import {
  type MemoryJournal,
  type PreparedCall,
  type PreparedClosing,
  prepareCall,
  prepareClosing,
} from "./memory-journal.ts";
import type { MemoryOutbox } from "./memory-outbox.ts";
import { type MemoryQueue, requireQueuedTogether } from "./memory-queue.ts";
import type { MemoryRevocations } from "./memory-revocations.ts";
import { type MemoryState, type PreparedWrites, prepareWrites } from "./memory-state.ts";
import { type MemoryTools, type PreparedTool, prepareTool } from "./memory-tools.ts";

/** The parts of a memory store; each is plain synchronous data, so a unit is atomic by not waiting for anything. */
export interface Parts {
  journal: MemoryJournal;
  state: MemoryState;
  audit: MemoryAudit;
  outbox: MemoryOutbox;
  tools: MemoryTools;
  approvals: MemoryApprovals;
  grants: MemoryGrants;
  revocations: MemoryRevocations;
  queue: MemoryQueue;
  callbacks: MemoryCallbacks;
}

/** What a unit will write, turned into text already: from here on writing cannot fail. */
interface Prepared {
  opened: PreparedCall | undefined;
  begun: PreparedCall | undefined;
  closing: PreparedClosing | undefined;
  writes: PreparedWrites | undefined;
  tools: PreparedTool[];
  approvals: PreparedApproval[];
  grants: PreparedGrant[];
}

/** Applies a unit whole, or says why nothing of it was. Throws, with nothing applied, when it cannot be kept at all. */
export function applyUnit(parts: Parts, unit: UnitOfWork): CommitResult {
  const prepared = prepare(unit);
  const conflict = firstConflict(parts, { unit, prepared });
  if (conflict) return { ok: false, conflict };
  return write(parts, { unit, prepared });
}

function prepare(unit: UnitOfWork): Prepared {
  requireQueuedTogether(unit);
  for (const write of unit.callbacks ?? []) requireCountingOn(write);
  return {
    opened: unit.open && prepareCall(unit.open),
    begun: unit.begin && prepareCall({ ...unit.begin, phase: "executing" }),
    closing: unit.close && prepareClosing(unit.close),
    writes: unit.state && prepareWrites(unit.state),
    tools: (unit.tools ?? []).map(({ record }) => prepareTool(record)),
    approvals: (unit.approvals ?? []).map(prepareApproval),
    grants: (unit.grants ?? []).map(prepareGrant),
  };
}

interface Asked {
  unit: UnitOfWork;
  prepared: Prepared;
}

/** Every part is checked against the store as it is before the unit; only writes of one record see each other. */
function firstConflict(parts: Parts, { unit, prepared }: Asked): Conflict | undefined {
  const { journal, approvals, grants, callbacks, state } = parts;
  const refused =
    (unit.open && journal.checkOpen(unit.open)) ??
    (unit.begin && journal.checkBegin(unit.begin)) ??
    (unit.close && journal.checkClose(unit.close)) ??
    approvals.check(prepared.approvals) ??
    grants.check(prepared.grants) ??
    (unit.callbacks && callbacks.check(unit.callbacks));
  if (refused) return refused;
  const keys = unit.state ? state.conflicts(unit.state) : [];
  return keys.length === 0 ? undefined : { kind: "state", keys };
}

function write(parts: Parts, { unit, prepared }: Asked): CommitResult {
  const { writes } = prepared;
  const links = parts.audit.append(unit.tenant, unit.events);
  writeCalls(parts, { unit, prepared }, links.at(-1));
  if (writes) parts.state.write(writes);
  for (const tool of prepared.tools) parts.tools.put(tool);
  for (const approval of prepared.approvals) parts.approvals.put(approval);
  for (const grant of prepared.grants) parts.grants.put(grant);
  for (const use of unit.grantUses ?? []) parts.grants.count(use);
  for (const revocation of unit.revocations ?? []) parts.revocations.put(revocation);
  for (const { callback } of unit.callbacks ?? []) parts.callbacks.put(callback);
  parts.outbox.append(unit.outbox);
  return { ok: true, links };
}

/** A call that begins or ends gives up its place in the queue. */
function writeCalls({ journal, queue }: Parts, { unit, prepared }: Asked, link: AuditLink | undefined): void {
  const { opened, begun, closing } = prepared;
  if (opened) journal.open(opened, link);
  if (unit.enqueue) queue.put(unit.enqueue);
  if (begun) journal.begin(begun, link);
  if (closing) journal.close(closing, link);
  if (begun) queue.leave(begun.intent.callId);
  if (closing) queue.leave(closing.callId);
}
