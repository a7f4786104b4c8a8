import { hash } from "node:crypto";
import {
  type CallAnswer,
  type Failure,
  failure,
  isFailure,
  type JsonValue,
  type LifecycleState,
  type RollbackProof,
} from "@sallyport/protocol";
import { end, release } from "../approvals/record.ts";
import { auditBody, type EventKind, EventWriter, grantEvent } from "../audit/index.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import type { Attempt } from "../passage/attempt.ts";
import type { ApprovalRecord, ApprovalWrite } from "../ports/approvals.ts";
import type {
  CallIdentity,
  CallIntent,
  CallPhase,
  CallRecord,
  CallTimeline,
  ClosedWith,
} from "../ports/calls.ts";
import type { GrantUse, StandingGrant } from "../ports/grants.ts";
import type { StateWrites } from "../ports/state.ts";
import type { Fence, UnitOfWork } from "../ports/store.ts";
import type { ResolvedTool } from "../registry/index.ts";
import { failureAnswer, successAnswer } from "./answer.ts";
import { isTransient } from "./conflicts.ts";
import { auditOfCall, progressOf } from "./progress.ts";

/** Digest of everything that makes two requests the same request. */
export function requestDigest({ tool, version, operation, dryRun }: CallRequest, inputHash: string): string {
  const parts = [tool, version ?? null, operation ?? null, inputHash, ...(dryRun ? ["dry run"] : [])];
  return hash("sha256", JSON.stringify(parts));
}

/** What the journal is told of a call. Only a call that reaches execution binds its idempotency key. */
export function intentOf(
  { request, received, progress }: Attempt,
  tool: ResolvedTool,
  { owner }: Pick<EngineContext, "owner">,
): CallIntent {
  const { inputHash, number, startedAt } = progress;
  const { callbackUrl, idempotencyKey, asyncMode, priority = "normal" } = request;
  const intent: CallIntent = {
    ...progress.call,
    manifestHash: tool.record.manifestHash,
    sideEffects: tool.traits.sideEffects,
    input: received.text,
    inputHash,
    owner,
    attempt: number,
    startedAt,
  };
  if (callbackUrl !== undefined) intent.callbackUrl = callbackUrl;
  if (idempotencyKey !== undefined) intent.requestDigest = requestDigest(request, inputHash);
  if (asyncMode) intent.asyncMode = true;
  if (priority !== "normal") intent.priority = priority;
  return intent;
}

/** The stored grants the call runs by, each used once, but for those it has used already. */
export function usesOf({ progress: { decision }, callId, used }: Attempt, at: number): GrantUse[] {
  const counted = decision?.counted ?? (decision?.grants ?? []).map((grantId) => ({ grantId }));
  return counted.filter(({ grantId }) => !used.has(grantId)).map((grant) => ({ ...grant, callId, at }));
}

/** How a call is closed. */
interface Closing {
  answer: CallAnswer;
  audit: string | undefined;
  timeline?: CallTimeline;
  outputHash?: string | undefined;
  state?: StateWrites | undefined;
  approvals?: ApprovalWrite[];
  /** Of a call that the journal does not hold: it is opened as closed. */
  opens?: CallIntent | undefined;
  /** The call began with this unit: the uses of grants that count with it. */
  began?: readonly GrantUse[] | undefined;
  /** Grants whose uses are given back, because the call never started. */
  returned?: readonly string[];
  /** The phase the journal has to hold it in; left out: any that is open. */
  from?: CallPhase;
  /** The run that ends it. */
  fence?: Fence | undefined;
  /** Synchronous callers get no webhook: the response is their answer. */
  isTold?: boolean;
}

/** The end of a call as one unit of work: outcome, events, state, approval, messages. All of it is durable or none. */
function closeUnit(
  { call, callbackUrl }: { call: CallIdentity; callbackUrl: string | undefined },
  end: Closing,
  context: Pick<EngineContext, "events">,
): UnitOfWork {
  const { answer, audit, timeline, outputHash, state, approvals } = end;
  const { opens, began, returned = [], from, fence, isTold } = end;
  const { callId, tenant } = call;
  const { status, completedAt: closedAt } = answer;
  const closing: ClosedWith = { status, closedAt, answer };
  if (outputHash !== undefined) closing.outputHash = outputHash;
  if (timeline) closing.timeline = timeline;
  const unit: UnitOfWork = { tenant, audit };
  const outbox = context.events.batch({ call, began: began && opens, answer });
  if (outbox) unit.outbox = outbox;
  if (fence) unit.fence = fence;
  if (opens) unit.open = { ...opens, phase: "closed", closing };
  else unit.close = { callId, phase: "closed", closing, ...(from && { from }) };
  if (began && began.length > 0) unit.grantUses = [...began];
  if (state) unit.state = state;
  if (approvals) unit.approvals = approvals;
  if (returned.length > 0) unit.returnedUses = returned.map((grantId) => ({ grantId, callId }));
  if (callbackUrl !== undefined && !isTold) {
    const callback = {
      callId,
      tenant,
      // In one spelling, so that what goes to one host is known by its start.
      url: URL.parse(callbackUrl)?.href ?? callbackUrl,
      state: "due",
      attempts: 0,
      dueAt: closedAt,
    } as const;
    unit.callbacks = [{ callback }];
  }
  return unit;
}

/** The end of an attempt whose tool is known. Where the journal does not hold the call yet, it is opened as closed. */
export function closeAttempt(
  attempt: Attempt,
  closing: Pick<Closing, "answer" | "audit" | "outputHash" | "state">,
  context: EngineContext,
): UnitOfWork {
  const { call, tool, request, ran, used, progress } = attempt;
  const returned = attempt.hasStarted ? [] : [...used];
  const isTold = attempt.waits === undefined;
  const opens = attempt.journaled || !tool ? undefined : intentOf(attempt, tool, context);
  if (opens && ran && request.idempotencyKey !== undefined) opens.idempotencyKey = request.idempotencyKey;
  const began = opens && ran ? usesOf(attempt, progress.startedAt) : undefined;
  return closeUnit(
    { call, callbackUrl: request.callbackUrl },
    { ...closing, timeline: attempt.timeline.get(), opens, began, returned, isTold, fence: attempt.fence },
    context,
  );
}

/** Events of a call that the journal does not hold, or holds as it did before. */
export function eventsUnit({ chain }: Attempt, audit: string | undefined): UnitOfWork {
  return { tenant: chain, audit };
}

interface Suspended {
  attempt: Attempt;
  answer: CallAnswer;
  error: Failure;
  audit: string | undefined;
  /** The approval as this attempt last saw it: if somebody else has changed it, nothing here applies. */
  question: ApprovalRecord | undefined;
}

/**
 * The end of an attempt that never ran, of a suspended call. A queued call stays queued on shutdown or a transient
 * error; any other error closes it. A call that waits for approval keeps waiting on shutdown or a transient error, and
 * its reservation is released; any other error voids the approval and closes the call.
 */
export function suspendedUnit(
  { attempt, answer, error, audit, question }: Suspended,
  context: EngineContext,
): UnitOfWork {
  const unchanged = eventsUnit(attempt, audit);
  const of = { call: attempt.call, callbackUrl: attempt.request.callbackUrl };
  const timeline = attempt.timeline.get();
  const mayTryAgain = isTransient(error) || context.inFlight.closing;
  if (attempt.waits?.for === "room") {
    if (mayTryAgain || error.code === "E3216") return unchanged;
    return closeUnit(of, { answer, audit, timeline, from: "queued" }, context);
  }
  if (!question) return unchanged;
  const at = context.clock.now();
  const expect = question.revision;
  if (mayTryAgain) {
    const record = release(question, at);
    return record === question ? unchanged : { ...unchanged, approvals: [{ record, expect }] };
  }
  const reason = `the call ended without running (${error.code})`;
  const record = end(question, { state: "void", at, reason });
  if (isFailure(record)) return unchanged;
  return closeUnit(of, { answer, audit, timeline, approvals: [{ record, expect, order: null }] }, context);
}

/** Event numbers after any that the execution itself can have written, so that event ids stay unique. */
const UNKNOWN_ORDINAL = 99;
const CLOSING_ORDINAL = 100;
/** Event numbers of what people say: each change of each question has its own. */
const PER_ROUND = 100_000;
const PER_CHANGE = 10;

function approvalOrdinal({ round, revision }: ApprovalRecord): number {
  return round * PER_ROUND + revision * PER_CHANGE;
}

/** What it takes to close a call that no attempt is running. */
export type ClosingContext = Pick<EngineContext, "store" | "clock" | "authority" | "feeds" | "events">;

/** How a call is closed that nobody is running. */
export interface RecordedEnding {
  states: readonly LifecycleState[];
  error?: Failure;
  proof?: RollbackProof;
  result?: JsonValue;
  /** A person's word, on record beside the states. */
  note?: string;
  /** Nothing of it started: the uses of grants it took are given back. */
  neverStarted?: true;
  /** The question that ends with the call, and who ended it; those who voted when left out. */
  approval?: { before: ApprovalRecord; after: ApprovalRecord; kind: EventKind; by?: string | undefined };
}

/** Closes a call that nobody is running. Undefined when it, or its approval, is no longer as it was read. */
export async function closeRecorded(
  record: CallRecord,
  { states, error, proof, result, note, neverStarted, approval }: RecordedEnding,
  context: ClosingContext,
): Promise<CallAnswer | undefined> {
  if (record.closing) return undefined;
  const at = context.clock.now();
  const question = approval?.after;
  const progress = { ...progressOf(record), error, rollback: proof, note, question };
  const ended = { visits: states.map((state) => ({ state, at })), completedAt: at };
  const answer = error
    ? failureAnswer(progress, ended, error)
    : successAnswer(progress, ended, result ?? null);
  const facts = { ...progress, ...(question && { approval: spokenBy(question, approval.by) }) };
  const kinds = [
    ...(approval ? [approval.kind] : []),
    ...states,
    ...(note === undefined ? [] : ["CLOSED_BY_PERSON" as const]),
  ];
  const ordinal = question ? approvalOrdinal(question) : CLOSING_ORDINAL;
  const returned = (neverStarted && record.grants) || [];
  const unit = closeUnit(
    { call: record, callbackUrl: record.callbackUrl },
    {
      answer,
      audit: auditOfCall(kinds, facts, { ordinal, at }),
      from: record.phase,
      fence: fenceOf(record),
      returned,
      ...(approval && {
        approvals: [{ record: approval.after, expect: approval.before.revision, order: null }],
      }),
    },
    context,
  );
  if (!(await context.store.commit(unit)).ok) return undefined;
  if (returned.length > 0) context.authority.release?.(returned, record.callId);
  context.feeds.ended(record.callId, { status: answer.status, at });
  return answer;
}

/** The run that an executing call is held under, as whoever judges it has claimed it. */
function fenceOf({ callId, phase, runId }: CallRecord): Fence | undefined {
  return phase === "executing" && runId !== undefined ? { callId, runId } : undefined;
}

/** An approval as events name it; `by`: who spoke, those who voted when left out. */
export function spokenBy({ approvalId, digest, votes }: ApprovalRecord, by?: string) {
  return { approvalId, by: by === undefined ? votes.map((vote) => vote.by) : [by], digest };
}

/** Puts on record that nobody knows how the call ended; false when somebody else has taken it over or closed it. */
export async function markUnknown(
  record: CallRecord,
  { store, clock, feeds }: Pick<EngineContext, "store" | "clock" | "feeds">,
): Promise<boolean> {
  const at = clock.now();
  const facts = { ...progressOf(record), error: failure("E3909") };
  const fence = fenceOf(record);
  const { ok } = await store.commit({
    tenant: record.tenant,
    ...(fence && { fence }),
    close: { callId: record.callId, phase: "unknown" },
    audit: auditOfCall(["OUTCOME_UNKNOWN"], facts, { ordinal: UNKNOWN_ORDINAL, at }),
  });
  if (ok) feeds.ended(record.callId, { status: "error", at });
  return ok;
}

export function notClosed(why: string): Failure {
  return failure("E3918", { message: `The journal refused to close the call (${why}).` });
}

/** What a person said about a call. */
interface Spoken {
  call: CallRecord;
  by: string;
  at: number;
  note?: string | undefined;
  /** The standing grant that was given with the answer, and the id of its event. */
  granted?: { grant: StandingGrant; eventId: string } | undefined;
}

/** The audit body of an answer to an approval, for the call's own chain; the grant given with it has its own event. */
export function auditOfAnswer(
  kind: EventKind,
  approval: ApprovalRecord,
  { call, by, at, note, granted }: Spoken,
): string {
  const facts = { ...progressOf(call), approval: spokenBy(approval, by), note: note?.toWellFormed() };
  const writer = new EventWriter(facts);
  const said = writer.write(kind, facts, { ordinal: approvalOrdinal(approval), at });
  if (!granted) return writer.body([said]);
  const issued = grantEvent("GRANT_ISSUED", granted.grant, { eventId: granted.eventId, timestamp: at });
  return auditBody(approval.tenant, [writer.whole(said), issued]);
}
