import { hash } from "node:crypto";
import {
  canonicalJson,
  defined,
  type Failure,
  failure,
  isFailure,
  type JsonValue,
  SallyportError,
} from "@sallyport/protocol";
import type { EngineContext } from "../context.ts";
import { EffectTransaction } from "../effects/effect-transaction.ts";
import { StateTransaction } from "../effects/state-transaction.ts";
import type { PreviewedRun, Progress } from "../journal/progress.ts";
import type { Authorised } from "../passage/authorise.ts";
import { runTool, type ToolRun } from "../passage/execute.ts";
import { prepareCall } from "../passage/job.ts";
import type { PreparedCall } from "../ports/runner.ts";
import { forDecision } from "../redact/redact.ts";
import { unfitPart, unfitResult } from "../validate/index.ts";

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
  const { egress, mounts } = prepared.confinement;
  if (egress.length > 0 || mounts.some(({ socket }) => socket)) return { progress };
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
  context: Pick<EngineContext, "isolation" | "errors">,
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
  const { attempt, progress, tool, life } = at;
  if (!tool.implementation) return { progress, error: failure("E3920") };
  const scope = { tenant: attempt.call.tenant, tool: tool.manifest.id };
  const state = new StateTransaction({
    ...{ reader: context.store.state, scope, callId: attempt.callId },
    unfit: (value) => unfitPart(value, context.limits.input.maxDepth),
  });
  const transaction = new EffectTransaction(state, prepared.staging);
  const confinement = prepared.confinement && { ...prepared.confinement, egress: [] };
  const job = { attempt, progress, tool, input: life.input, transaction, confinement };
  try {
    const run = await runTool(job, tool.implementation, context);
    const error = run.error ?? unfitResult(run.output, context.limits.input.maxDepth);
    if (!error && run.output !== undefined) return await hold(run, { transaction, name });
    await transaction.rollback();
    return { progress: run.progress, error: error ?? failure("E3900") };
  } catch (thrown) {
    if (transaction.isActive()) await transaction.rollback();
    throw thrown;
  }
}

async function hold(
  { progress, output, sandbox }: ToolRun & { output: JsonValue },
  { transaction, name }: { transaction: EffectTransaction; name: string },
): Promise<Preview> {
  const files = await transaction.files?.effects();
  await transaction.files?.hold(name);
  const state = transaction.writes();
  const changed = transaction.state
    .mutations()
    .map(({ kind, key }) => ({ kind, key: forDecision.redactText(key) }));
  transaction.state.commit();
  const held: PreviewedRun = {
    ...(transaction.files && { files: name }),
    digest: hash("sha256", canonicalJson({ files: files?.digest ?? null, state: changed })),
    output,
    usage: progress.usage,
    ...defined({ state, sandbox }),
  };
  const effects = JSON.parse(JSON.stringify({ ...files, ...(changed.length > 0 && { state: changed }) }));
  return { progress: { ...progress, held }, effects };
}
