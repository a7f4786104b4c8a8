import { type Failure, failure, isFailure, SallyportError } from "@sallyport/protocol";
import type { HeldRun } from "../../approve/order.ts";
import { consume, voided } from "../../approve/settle.ts";
import { EffectTransaction } from "../../effects/effect-transaction.ts";
import { StateTransaction } from "../../effects/state-transaction.ts";
import type { HookRunner } from "../../execute/hooks.ts";
import { reasonOf } from "../../journal/unanswered.ts";
import type { ApprovalRecord } from "../../ports/approvals.ts";
import type { Conflict, UnitOfWork } from "../../ports/store.ts";
import { intentOf, usesOf } from "../call-record.ts";
import { type Confined, confine } from "../confine.ts";
import { abortUnstarted, rollBack } from "../ending-steps.ts";
import type { House } from "../house.ts";
import { isOurs } from "../is-ours.ts";
import { hookCallOf, runnerOf } from "../job.ts";
import type { Admitted, Ending, Intended } from "../steps.ts";

/**
 * Opens the transaction and makes the intent durable before anything can happen. A tool without side effects needs no
 * barrier: if the process dies while it runs nothing has changed, so there is nothing to find out afterwards.
 */
export function journalIntent(at: Admitted, house: House): Intended | Ending | Promise<Intended | Ending> {
  return house.hooks ? afterHooks(at, house.hooks, house) : open(at, house);
}

/** Pre hooks come first (MCX-2): a call they refuse has begun nothing and spent nothing. */
async function afterHooks(at: Admitted, hooks: HookRunner, house: House): Promise<Intended | Ending> {
  const call = hookCallOf(at, house);
  at.attempt.hooked = call;
  const refusal = await hooks.before(call);
  return refusal ? abortUnstarted(at, refusal) : await open(at, house);
}

function open(at: Admitted, house: House): Intended | Ending | Promise<Intended | Ending> {
  const { attempt, tool } = at;
  if (attempt.held) return openHeld(at, attempt.held, house);
  const confined = confine(attempt, tool, house);
  if (isFailure(confined)) return abortUnstarted(at, confined);
  if (confined.confinement) return openIsolated(at, confined, house);
  attempt.facts.isolation = runnerOf(tool, house).isolation;
  return begin(at, confined, house);
}

/** The demanded isolation is had, or the call ends here: it never runs in a weaker one. */
async function openIsolated(at: Admitted, confined: Confined, house: House): Promise<Intended | Ending> {
  const { isolation } = house;
  const level = confined.confinement?.level ?? "LEVEL_2";
  try {
    at.attempt.facts.isolation = await isolation?.sandbox.isolationFor(level);
  } catch (error) {
    if (error instanceof SallyportError) return abortUnstarted(at, error.failure);
    throw error;
  }
  return await begin(at, confined, house);
}

/** The changes that were shown and approved; if they are gone, there is nothing left to commit. */
async function openHeld(at: Admitted, held: HeldRun, house: House): Promise<Intended | Ending> {
  const { attempt } = at;
  const staging =
    held.files === undefined
      ? undefined
      : await house.isolation?.workspaces.resumeHeld(held.files, attempt.callId);
  if (held.files !== undefined && !staging) {
    const message = "The changes that were approved are no longer kept. Nothing was committed.";
    return abortUnstarted(at, failure("E3216", { message, advice: "Make the call again." }));
  }
  attempt.facts.isolation = held.sandbox?.isolation;
  return await begin(at, { staging, confinement: undefined }, house);
}

function begin(at: Admitted, confined: Confined, house: House): Intended | Promise<Intended | Ending> {
  const { attempt, tool, input } = at;
  const scope = { tenant: attempt.request.caller.tenant, tool: tool.manifest.id };
  const state = StateTransaction.begin({ reader: house.store.state, scope, callId: attempt.callId });
  const transaction = new EffectTransaction(state, confined.staging, attempt.held?.state);
  const { confinement } = confined;
  attempt.executing();
  const life = at.life.executing(transaction);
  const intended: Intended = { attempt, tool, input, life, transaction, confinement };
  const mayStayUnwritten = tool.conduct.sideEffects === "none" && !attempt.waits;
  return mayStayUnwritten ? intended : writeIntent(intended, house);
}

async function writeIntent(at: Intended, house: House): Promise<Intended | Ending> {
  const { attempt, tool } = at;
  if (attempt.violation) return await rollBack(at, attempt.violation);
  const events = attempt.takeEvents();
  const first = !attempt.journaled;
  try {
    const result = await house.store.commit({
      tenant: attempt.facts.tenant,
      ...(first && beginning(at, house)),
      events,
      outbox: first ? [{ callId: attempt.callId, type: "tool.invoked" }] : [],
    });
    if (result.ok) {
      attempt.journaled = true;
      return at;
    }
    attempt.returnEvents(events);
    return await rollBack(at, refusal(result.conflict, attempt.callId));
  } catch (error) {
    house.errors.report({
      error,
      code: "E3908",
      callId: attempt.callId,
      tool: tool.manifest.id,
      stage: "journal intent",
    });
    // What was given up as lost may have landed after all: then it has to be closed, and its events are written.
    if (first && (await isOurs(attempt, "executing", house))) attempt.journaled = true;
    else attempt.returnEvents(events);
    return await rollBack(at, unwritten(error));
  }
}

function unwritten(error: unknown): Failure {
  const reason = reasonOf(error);
  if (reason === undefined) return failure("E3908");
  return failure("E3908", {
    message: `The call did not start, because its intent was not recorded. ${reason}`,
  });
}

/** The journal's first word that the call runs: for one that waited, together with spending its approval. */
function beginning({ attempt, tool }: Intended, house: House): Partial<UnitOfWork> {
  const intent = intentOf(attempt, tool, house);
  const { approval } = attempt;
  const grantUses = usesOf(attempt);
  // What was asked for first is what the key stands for, whatever was edited or resolved since.
  const { requestDigest: _ofThisAttempt, ...begin } = intent;
  if (attempt.waits?.for === "room") return { begin, grantUses };
  if (!attempt.waits || !approval) {
    const { idempotencyKey } = attempt.request;
    const key = idempotencyKey !== undefined && { idempotencyKey };
    return { open: { ...intent, ...key, phase: "executing" }, grantUses };
  }
  return {
    begin,
    approvals: [{ record: spent(approval, house), expect: approval.revision, order: null }],
    grantUses,
  };
}

/** Consumed when the call runs by it; void when by now it runs without one. */
function spent(approval: ApprovalRecord, house: House): ApprovalRecord {
  const at = house.clock.now();
  const next =
    approval.standing.state === "reserved"
      ? consume(approval, { owner: house.owner, at })
      : voided(approval, { at, reason: "the call no longer needs approval" });
  if (isFailure(next)) throw new SallyportError(next);
  return next;
}

function refusal(conflict: Conflict, callId: string) {
  if (conflict.kind === "approval" || conflict.kind === "not_waiting") {
    const message = "Somebody else has begun or ended this call, or changed its approval.";
    return failure("E3216", { message });
  }
  if (conflict.kind === "duplicate_call") {
    return failure("E3905", { message: `There is already a call ${callId}.` });
  }
  if (conflict.kind === "idempotency") {
    const details = { callId: conflict.existing.callId };
    return failure("E3904", {
      message: `The idempotency key was taken by call ${conflict.existing.callId}.`,
      details,
    });
  }
  return failure("E3908", { message: `The journal refused the intent (${conflict.kind}).` });
}
