import { hash } from "node:crypto";
import {
  canonicalJson,
  type Failure,
  type FileEffects,
  failure,
  isFailure,
  type JsonValue,
  SallyportError,
} from "@sallyport/protocol";
import type { EngineContext } from "../context.ts";
import { EffectTransaction } from "../effects/effect-transaction.ts";
import { StateTransaction } from "../effects/state-transaction.ts";
import { classify, escapeOf } from "../execute/index.ts";
import type { Progress } from "../journal/progress.ts";
import type { Authorised } from "../passage/authorise.ts";
import { runSafely } from "../passage/execute.ts";
import { jobOf, prepareCall, runnerOf, sandboxFacts } from "../passage/job.ts";
import type { Job, PreparedCall, RunResult } from "../ports/runner.ts";
import { forDecision, redactText } from "../redact/redact.ts";
import { unfitResult } from "../validate/index.ts";
import type { PreviewedRun } from "./order.ts";

/** What came of a preview. */
interface Preview {
  progress: Progress;
  /** What the person who is asked will see of the call's effects; absent when it was not tried out. */
  effects?: JsonValue;
  /** Why the call is not asked about. */
  error?: Failure;
}

/** Where the changes of a try-out are kept until the question is answered. */
function holdName({ callId, round }: { callId: string; round: number }): string {
  return `${callId}.${round}`;
}

/**
 * Tries the call out where the policy asks for that: isolated, without network, in a copy-on-write view. What it gave
 * and changed is held under the question, and approval commits exactly that. A tool that fails here is not asked about.
 */
export async function previewEffects(
  at: Authorised,
  { round }: { round: number },
  context: EngineContext,
): Promise<Preview> {
  const { attempt, progress, tool, decision } = at;
  if (!decision.preview && !attempt.request.preview) return { progress };
  const prepared = prepareCall(attempt, tool, context);
  if (isFailure(prepared)) return { progress, error: prepared };
  // Only full isolation makes a try-out harmless; any other tool is asked about before it runs.
  if (prepared.confinement?.level !== "LEVEL_2") return { progress };
  // Without its hosts it would do something else than it will; what it would do there cannot be shown beforehand.
  if (prepared.confinement.egress.length > 0) return { progress };
  const slot =
    attempt.slot ??
    (await context.admission.enter({
      tenant: attempt.request.caller.tenant,
      agent: attempt.request.caller.agent,
      tool: tool.manifest.id,
      priority: attempt.request.priority ?? "normal",
      signal: attempt.signal,
    }));
  if ("code" in slot) return { progress, error: slot };
  try {
    return await tryOut(at, { prepared, name: holdName({ callId: attempt.callId, round }) }, context);
  } catch (error) {
    if (error instanceof SallyportError) return { progress, error: error.failure };
    throw error;
  } finally {
    if (slot !== attempt.slot) slot.release();
  }
}

/** Forgets the changes held for a question that is settled. Never fails the settlement: what is left expires. */
export async function discardPreview(
  question: { callId: string; round: number },
  context: EngineContext,
): Promise<void> {
  try {
    await context.isolation?.workspaces.dropHeld(holdName(question));
  } catch (error) {
    context.errors.report({ error, code: "E3801", callId: question.callId, stage: "drop held changes" });
  }
}

async function tryOut(
  at: Authorised,
  { prepared, name }: { prepared: PreparedCall; name: string },
  context: EngineContext,
): Promise<Preview> {
  const { attempt, tool, life } = at;
  const { implementation } = tool;
  if (!implementation) return { progress: at.progress, error: failure("E3920") };
  const scope = { tenant: attempt.call.tenant, tool: tool.manifest.id };
  const state = StateTransaction.begin({ reader: context.store.state, scope, callId: attempt.callId });
  const transaction = new EffectTransaction(state, prepared.staging);
  const confinement = prepared.confinement && { ...prepared.confinement, egress: [] };
  const job = jobOf({ attempt, tool, input: life.input, transaction, confinement }, implementation, context);
  const result = await runSafely(runnerOf(tool, context), job);
  const progress: Progress = { ...at.progress, ...sandboxFacts(result.sandbox), usage: result.usage };
  const unfit = result.ok ? unfitResult(result.output, context.limits.input.maxDepth) : undefined;
  const error = problemOf({ ...at, progress }, { result, job, now: context.clock.now() }) ?? unfit;
  if (error || !result.ok) {
    await transaction.rollback();
    return { progress, error: error ?? failure("E3900") };
  }
  try {
    return await hold(progress, { result, transaction, name });
  } catch (thrown) {
    await transaction.rollback();
    throw thrown;
  }
}

function problemOf(
  at: Authorised,
  { result, job, now }: { result: RunResult; job: Job; now: number },
): Failure | undefined {
  const { attempt, tool } = at;
  const breakout = escapeOf(tool.manifest.id, result);
  if (breakout) attempt.violate(breakout);
  const { violation } = attempt;
  if (violation) {
    if (breakout) attempt.record("ESCAPE_ATTEMPT", now, { ...at.progress, error: violation });
    return violation;
  }
  if (result.ok) return undefined;
  const failed = classify(result.fault, { ...job, idempotent: tool.traits.idempotent });
  return { ...failed, message: redactText(failed.message) };
}

async function hold(
  progress: Progress,
  {
    result,
    transaction,
    name,
  }: { result: RunResult & { ok: true }; transaction: EffectTransaction; name: string },
): Promise<Preview> {
  const files = await transaction.files?.effects();
  await transaction.files?.hold(name);
  const state = transaction.writes();
  const changed = transaction
    .mutations()
    .map(({ kind, key }) => ({ kind, key: forDecision.redactText(key) }));
  transaction.state.commit();
  const held: PreviewedRun = {
    ...(transaction.files && { files: name }),
    digest: digestOf(files, changed),
    output: result.output,
    ...(state && { state }),
    usage: result.usage,
    ...(result.sandbox && { sandbox: result.sandbox }),
  };
  const effects = JSON.parse(JSON.stringify({ ...files, ...(changed.length > 0 && { state: changed }) }));
  return { progress: { ...progress, held }, effects };
}

function digestOf(files: FileEffects | undefined, state: readonly { kind: string; key: string }[]): string {
  return hash("sha256", canonicalJson({ files: files?.digest ?? null, state: [...state] }));
}
