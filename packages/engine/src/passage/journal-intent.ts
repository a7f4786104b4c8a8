import { setTimeout as sleep } from "node:timers/promises";
import { type Failure, failure, type Isolation, isFailure, SallyportError } from "@sallyport/protocol";
import { consume, end } from "../approvals/record.ts";
import type { EngineContext } from "../context.ts";
import { EffectTransaction } from "../effects/effect-transaction.ts";
import { StateTransaction } from "../effects/state-transaction.ts";
import type { HookRunner } from "../execute/index.ts";
import { isUnanswered, reasonOf } from "../journal/bounded-store.ts";
import { conflictFailure } from "../journal/conflicts.ts";
import type { PreviewedRun } from "../journal/progress.ts";
import { intentOf, usesOf } from "../journal/unit.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { Decision } from "../ports/authority.ts";
import type { GrantUse } from "../ports/grants.ts";
import type { PreparedCall } from "../ports/runner.ts";
import type { Fence, UnitOfWork } from "../ports/store.ts";
import { unfitPart } from "../validate/index.ts";
import type { Attempt } from "./attempt.ts";
import { hookCallOf, prepareCall, runnerOf } from "./job.ts";
import { type Admitted, abortBeforeStart, type Ending, type Intended, rollBack } from "./steps.ts";

/**
 * Opens the transaction and makes the intent durable before anything can happen. A tool without side effects needs no
 * barrier: if the process dies while it runs nothing has changed, so there is nothing to find out afterwards.
 */
export function journalIntent(
  at: Admitted,
  context: EngineContext,
): Intended | Ending | Promise<Intended | Ending> {
  return context.hooks ? afterHooks(at, context.hooks, context) : open(at, context);
}

/** Pre hooks come first (MCX-2): a call they refuse has begun nothing and spent nothing. */
async function afterHooks(
  at: Admitted,
  hooks: HookRunner,
  context: EngineContext,
): Promise<Intended | Ending> {
  const call = hookCallOf(at, context);
  at.attempt.hooked = call;
  const refusal = await hooks.before(call);
  return refusal ? abortBeforeStart(at, refusal) : await open(at, context);
}

function open(at: Admitted, context: EngineContext): Intended | Ending | Promise<Intended | Ending> {
  const { attempt, tool, progress } = at;
  if (progress.held) return openHeld(at, progress.held, context);
  const prepared = prepareCall(attempt, tool, context);
  if (isFailure(prepared)) return abortBeforeStart(at, prepared);
  if (prepared.confinement) return openIsolated(at, prepared, context);
  return begin(at, prepared, runnerOf(tool, context).isolation, context);
}

/** The demanded isolation is had, or the call ends here: it never runs in a weaker one. */
async function openIsolated(
  at: Admitted,
  prepared: PreparedCall,
  context: EngineContext,
): Promise<Intended | Ending> {
  const level = prepared.confinement?.level ?? "LEVEL_2";
  let isolation: Isolation | undefined;
  try {
    isolation = await context.isolation?.sandbox.isolationFor(level);
  } catch (error) {
    if (error instanceof SallyportError) return abortBeforeStart(at, error.failure);
    throw error;
  }
  return await begin(at, prepared, isolation, context);
}

/** The changes that were shown and approved; if they are gone, there is nothing left to commit. */
async function openHeld(
  at: Admitted,
  { files, sandbox }: PreviewedRun,
  context: EngineContext,
): Promise<Intended | Ending> {
  const { workspaces } = context.isolation ?? {};
  const staging = files === undefined ? undefined : await workspaces?.resumeHeld(files, at.attempt.callId);
  if (files !== undefined && !staging) {
    const message = "The changes that were approved are no longer kept. Nothing was committed.";
    return abortBeforeStart(at, failure("E3216", { message, advice: "Make the call again." }));
  }
  return await begin(at, { staging, confinement: undefined }, sandbox?.isolation, context);
}

function begin(
  at: Admitted,
  { staging, confinement }: PreparedCall,
  isolation: Isolation | undefined,
  context: EngineContext,
): Intended | Ending | Promise<Intended | Ending> {
  const { attempt, tool, input } = at;
  const decision = takeUses(at, context);
  if (decision && isFailure(decision))
    return abortBeforeStart({ ...at, progress: { ...at.progress, isolation } }, decision);
  const progress = { ...at.progress, isolation, decision };
  const scope = { tenant: attempt.call.tenant, tool: tool.manifest.id };
  const state = new StateTransaction({
    ...{ reader: context.store.state, scope, callId: attempt.callId },
    unfit: (value) => unfitPart(value, context.limits.input.maxDepth),
  });
  const transaction = new EffectTransaction(state, staging, progress.held?.state);
  attempt.transaction = transaction;
  attempt.executing();
  const life = at.life.executing(progress, transaction);
  const intended: Intended = { attempt, progress, tool, input, life, transaction, confinement };
  const changesNothing = tool.traits.sideEffects === "none" && !attempt.waits && !isLimited(attempt);
  return changesNothing && !mayRunElsewhere(attempt, context) ? intended : writeIntent(intended, context);
}

/** Another process may get the same request: the intent takes the key, so that one of them runs it. */
function mayRunElsewhere({ request }: Attempt, { store }: EngineContext): boolean {
  return store.isShared && request.idempotencyKey !== undefined;
}

/** The decision with its grants' uses reserved; why they do not serve any more, when others have used them up. */
function takeUses(
  { attempt, progress: { decision } }: Admitted,
  { authority, clock, errors }: EngineContext,
): Decision | Failure | undefined {
  if (!decision || !authority.reserve) return decision;
  const { callId } = attempt;
  try {
    const reserved = authority.reserve(decision, { callId, at: clock.now() });
    if (isFailure(reserved)) return reserved;
    const grantIds = (reserved.counted ?? []).map(({ grantId }) => grantId);
    attempt.onExit(() => {
      if (!attempt.hasStarted) authority.release?.(grantIds, callId);
    });
    return reserved;
  } catch (error) {
    errors.report({ error, code: "E3206", callId, stage: "journal intent" });
    return failure("E3206");
  }
}

/** Whether a grant's limit is yet to be held to: then the store has to agree before the call runs. */
function isLimited(attempt: Attempt): boolean {
  return usesOf(attempt, 0).some(({ maxUses, rates }) => maxUses !== undefined || rates !== undefined);
}

async function writeIntent(at: Intended, context: EngineContext): Promise<Intended | Ending> {
  const { attempt, tool } = at;
  const { callId, call, log } = attempt;
  if (attempt.violation) return await rollBack(at, attempt.violation);
  const events = log.unit();
  const isFirst = !attempt.journaled;
  const now = context.clock.now();
  const grantUses = usesOf(attempt, now);
  const fence = { callId, runId: context.ids.next() };
  const begun = isFirst ? beginning(at, { uses: grantUses, fence }, context) : runAgain(attempt, fence);
  if (isFailure(begun)) return await rollBack(at, begun);
  const opened = begun.open ?? begun.begin;
  const outbox = opened && context.events.batch({ call: opened, began: opened });
  const began = () => {
    log.stored(events);
    attempt.fence = fence;
    for (const { grantId } of grantUses) attempt.used.add(grantId);
    return at;
  };
  try {
    const result = await context.store.commit({
      tenant: call.tenant,
      ...begun,
      ...(grantUses.length > 0 && { grantUses }),
      audit: events.audit,
      ...(outbox && { outbox }),
    });
    if (result.ok) return began();
    return await rollBack(at, conflictFailure(result.conflict, { callId, what: "intent", at: now }));
  } catch (error) {
    context.errors.report({ error, code: "E3908", callId, tool: tool.manifest.id, stage: "journal intent" });
    // It has its slot from the queue, so that nobody waits for its answer.
    if (attempt.slot && isUnanswered(error) && (await hasLanded(attempt, fence, context))) return began();
    attempt.unanswered.push(fence);
    if (!attempt.hasStarted) context.unrecorded.undone(fence, { error: TOO_LATE, hasStarted: false });
    return await rollBack(at, unwritten(error));
  }
}

const TOO_LATE = failure("E3908", {
  message: "The call did not start, because its intent was recorded too late.",
});

const ASK_AGAIN_MS = 500;

/** Whether the run is on record after all: waits until the store can tell. */
async function hasLanded(
  { call, signal }: Attempt,
  fence: Fence,
  { store }: EngineContext,
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      return (await store.commit({ tenant: call.tenant, fence })).ok;
    } catch {
      await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  return false;
}

function unwritten(error: unknown): Failure {
  const reason = reasonOf(error);
  if (reason === undefined) return failure("E3908");
  return failure("E3908", {
    message: `The call did not start, because its intent was not recorded. ${reason}`,
  });
}

/** A retry: the journal holds the call as the run before this one. */
function runAgain({ fence, progress }: Attempt, { callId, runId }: Fence): Partial<UnitOfWork> {
  return { ...(fence && { fence }), rerun: { callId, runId, attempt: progress.number } };
}

/** The journal's first word that the call runs: for one that waited, together with spending its approval. */
function beginning(
  { attempt, progress, tool, transaction }: Intended,
  { uses, fence: { runId } }: { uses: readonly GrantUse[]; fence: Fence },
  context: EngineContext,
): Partial<UnitOfWork> | Failure {
  const grants = uses.map(({ grantId }) => grantId);
  const stagedIn = transaction.files && context.isolation?.workspaces.id;
  const intent = {
    ...intentOf(attempt, tool, context),
    runId,
    ...(stagedIn !== undefined && { stagedIn }),
    ...(grants.length > 0 && { grants }),
  };
  const { question } = progress;
  // What was asked for first is what the key stands for, whatever was edited or resolved since.
  const { requestDigest: _ofThisAttempt, ...begin } = intent;
  if (attempt.waits?.for === "room") return { begin };
  if (!attempt.waits || !question) {
    const { idempotencyKey } = attempt.request;
    const key = idempotencyKey !== undefined && { idempotencyKey };
    return { open: { ...intent, ...key, phase: "executing" } };
  }
  const record = spent(question, context);
  if (isFailure(record)) return record;
  return { begin, approvals: [{ record, expect: question.revision, order: null }] };
}

/** Consumed when the call runs by it; void when by now it runs without one. */
function spent(approval: ApprovalRecord, context: EngineContext): ApprovalRecord | Failure {
  const at = context.clock.now();
  return approval.standing.state === "reserved"
    ? consume(approval, { owner: context.owner, at })
    : end(approval, { state: "void", at, reason: "the call no longer needs approval" });
}
