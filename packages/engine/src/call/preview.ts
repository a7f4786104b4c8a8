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
import { agentKey } from "../admit/agent-key.ts";
import type { HeldRun } from "../approve/order.ts";
import { EffectTransaction } from "../effects/effect-transaction.ts";
import { StateTransaction } from "../effects/state-transaction.ts";
import { classify } from "../execute/classify.ts";
import type { Job, RunResult } from "../ports/runner.ts";
import { forDecision, redactText } from "../redact/redact.ts";
import { type Confined, confine } from "./confine.ts";
import type { House } from "./house.ts";
import { jobOf, runnerOf } from "./job.ts";
import { escapeOf, noteSandbox } from "./sandbox-notes.ts";
import type { Weighed } from "./stages/authorise.ts";
import { runSafely } from "./stages/execute.ts";

/** What the person who is asked will see of the call's effects; undefined when it was not tried out. */
interface Shown {
  effects: JsonValue | undefined;
}

const NOT_SHOWN: Shown = { effects: undefined };

/** Where the changes of a try-out are kept until the question is answered. */
function holdName({ callId, round }: { callId: string; round: number }): string {
  return `${callId}.${round}`;
}

/**
 * Tries the call out where the policy asks for that: isolated, without network, in a copy-on-write view. What it gave
 * and changed is held under the question, and approval commits exactly that. A tool that fails here is not asked about.
 */
export async function showEffects(
  at: Weighed,
  { round }: { round: number },
  house: House,
): Promise<Shown | Failure> {
  const { attempt, tool, decision } = at;
  if (!decision.preview && !attempt.request.preview) return NOT_SHOWN;
  const confined = confine(attempt, tool, house);
  if (isFailure(confined)) return confined;
  // Only full isolation makes a try-out harmless; any other tool is asked about before it runs.
  if (confined.confinement?.level !== "LEVEL_2") return NOT_SHOWN;
  // Without its hosts it would do something else than it will; what it would do there cannot be shown beforehand.
  if (confined.confinement.egress.length > 0) return NOT_SHOWN;
  const place =
    attempt.place ??
    (await house.admission.enter({
      agent: agentKey(attempt.request.caller),
      tool: tool.manifest.id,
      priority: attempt.request.priority ?? "normal",
      signal: attempt.signal,
    }));
  if ("code" in place) return place;
  try {
    return await tryOut(at, { confined, name: holdName({ callId: attempt.callId, round }) }, house);
  } catch (error) {
    if (error instanceof SallyportError) return error.failure;
    throw error;
  } finally {
    if (place !== attempt.place) place.release();
  }
}

/** Forgets the changes held for a question that is settled. Never fails the settlement: what is left expires. */
export async function dropShown(question: { callId: string; round: number }, house: House): Promise<void> {
  try {
    await house.isolation?.workspaces.dropHeld(holdName(question));
  } catch (error) {
    house.errors.report({ error, code: "E3801", callId: question.callId, stage: "drop held changes" });
  }
}

async function tryOut(
  at: Weighed,
  { confined, name }: { confined: Confined; name: string },
  house: House,
): Promise<Shown | Failure> {
  const { attempt, tool, life } = at;
  const { implementation } = tool;
  if (!implementation) return failure("E3920");
  const scope = { tenant: attempt.request.caller.tenant, tool: tool.manifest.id };
  const state = StateTransaction.begin({ reader: house.store.state, scope, callId: attempt.callId });
  const transaction = new EffectTransaction(state, confined.staging);
  const confinement = confined.confinement && { ...confined.confinement, egress: [] };
  const job = jobOf({ attempt, tool, input: life.input, transaction, confinement }, implementation, house);
  const result = await runSafely(runnerOf(tool, house), job);
  attempt.usage = result.usage;
  noteSandbox(attempt, result.sandbox);
  const problem = problemOf(at, { result, job, now: house.clock.now() });
  if (problem || !result.ok) {
    await transaction.rollback();
    return problem ?? failure("E3900");
  }
  try {
    return await hold(at, { result, transaction, name });
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}

function problemOf(
  at: Weighed,
  { result, job, now }: { result: RunResult; job: Job; now: number },
): Failure | undefined {
  const { attempt, tool } = at;
  const breakout = escapeOf(at, result);
  if (breakout) attempt.violate(breakout);
  if (attempt.violation) {
    attempt.facts.error = attempt.violation;
    if (breakout) attempt.record("ESCAPE_ATTEMPT", now);
    return attempt.violation;
  }
  if (result.ok) return undefined;
  const failed = classify(result.fault, { ...job, idempotent: tool.conduct.idempotent });
  return { ...failed, message: redactText(failed.message) };
}

async function hold(
  { attempt }: Weighed,
  {
    result,
    transaction,
    name,
  }: { result: RunResult & { ok: true }; transaction: EffectTransaction; name: string },
): Promise<Shown> {
  const files = await transaction.files?.effects();
  await transaction.files?.hold(name);
  const state = transaction.writes();
  const changed = transaction
    .mutations()
    .map(({ kind, key }) => ({ kind, key: forDecision.redactText(key) }));
  transaction.state.commit();
  const held: HeldRun = {
    ...(transaction.files && { files: name }),
    digest: digestOf(files, changed),
    output: result.output,
    ...(state && { state }),
    usage: result.usage,
    ...(result.sandbox && { sandbox: result.sandbox }),
  };
  attempt.held = held;
  return { effects: JSON.parse(JSON.stringify({ ...files, ...(changed.length > 0 && { state: changed }) })) };
}

function digestOf(files: FileEffects | undefined, state: readonly { kind: string; key: string }[]): string {
  return hash("sha256", canonicalJson({ files: files?.digest ?? null, state: [...state] }));
}
