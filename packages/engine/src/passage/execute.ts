import { type Failure, failure, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { PreviewedRun } from "../approvals/order.ts";
import type { EngineContext } from "../context.ts";
import type { GuardedHost } from "../execute/index.ts";
import { cancelled, classify, escapeOf, isJsonObjectText } from "../execute/index.ts";
import type { Progress } from "../journal/progress.ts";
import type { Job, Runner, RunResult } from "../ports/runner.ts";
import { redactText } from "../redact/redact.ts";
import { jobOf, runnerOf, sandboxFacts } from "./job.ts";
import { type Ending, type Intended, type Ran, rollBack } from "./steps.ts";

/** Runs the tool. Whatever happens in there comes out as a result or as a rolled-back call. */
export async function execute(at: Intended, context: EngineContext): Promise<Ran | Ending> {
  const { attempt, tool } = at;
  // Cancelled while the intent was written: nothing of it has started, and nothing will.
  if (attempt.signal.aborted) return await rollBack(at, attempt.violation ?? cancelled(attempt.signal));
  if (at.progress.held) return committingHeld(at, at.progress.held);
  // A version may have gone while the call waited to run; calls that run already finish.
  const { id, version } = tool.manifest;
  if (!tool.implementation || !context.registry.version(id, version)?.implementation)
    return await rollBack(at, failure("E3920", { message: `${id} ${version} is not loaded any more.` }));
  const job = jobOf(at, tool.implementation, context);
  attempt.ran = true;
  const runner = runnerOf(tool, context);
  const result = await runSafely(runner, job);
  const progress: Progress = {
    ...at.progress,
    ...sandboxFacts(result.sandbox, runner),
    usage: result.usage ?? at.progress.usage,
    uses: usesOf(job.host),
  };
  const ran = { ...at, progress };
  const breakout = escapeOf(tool.manifest.id, result);
  if (breakout) attempt.violate(breakout);
  if (attempt.violation) return await endViolation(ran, attempt.violation, context);
  if (result.ok) return { ...ran, output: result.output };
  const classified = classify(result.fault, { ...job, idempotent: tool.traits.idempotent });
  const error: Failure = { ...classified, message: withoutSecrets(classified.message) };
  context.errors.report({
    error: result.fault,
    code: error.code,
    callId: attempt.callId,
    tool: id,
    stage: "execute",
  });
  return await rollBack(ran, error);
}

/** It has run before the question was put: what it did then is what was approved. */
function committingHeld(at: Intended, { output, usage, sandbox }: PreviewedRun): Ran {
  at.attempt.ran = true;
  return { ...at, progress: { ...at.progress, ...sandboxFacts(sandbox), usage }, output };
}

/** What a runner cuts a tool's message to; only the last words of one that long can be half of something. */
const CUT_CHARS = 1_999;
const LAST_WORDS = /\s+\S*$/;

/** A tool's message as it may be shown: half a secret at the end of one that was cut would not be known as one. */
function withoutSecrets(message: string): string {
  const safe = redactText(message);
  // A JSON object was not cut, and passes as it is (FR-ERR-JSON-TOOL-02).
  return message.length < CUT_CHARS || isJsonObjectText(message) ? safe : `${safe.replace(LAST_WORDS, "")} …`;
}

/** The breach is on record for itself, then as the reason the call ends. */
async function endViolation(at: Intended, violation: Failure, context: EngineContext): Promise<Ending> {
  const isToolsOwn = violation.details?.severity !== undefined;
  const kind = violation.code === "E3109" ? "ESCAPE_ATTEMPT" : "CAPABILITY_VIOLATION";
  if (isToolsOwn) at.attempt.record(kind, context.clock.now(), { ...at.progress, error: violation });
  return await rollBack(at, violation);
}

/** How the tool used its capabilities, for the event that ends the call; undefined when it used none. */
function usesOf({ uses }: GuardedHost): JsonValue | undefined {
  const entries = uses.entries();
  if (entries.length === 0) return undefined;
  return [
    ...entries.map((entry): JsonObject => ({ ...entry })),
    ...(uses.more > 0 ? [{ more: uses.more }] : []),
  ];
}

/** A runner promises never to reject; one that does is treated like a tool that died. */
export async function runSafely(runner: Runner, job: Job): Promise<RunResult> {
  try {
    const result = await runner.run(job);
    if (typeof result?.ok === "boolean") return result;
    return brokenRunner("it gave no result");
  } catch (error) {
    return brokenRunner(error instanceof Error ? error.message : String(error));
  }
}

function brokenRunner(why: string): RunResult {
  const fault = { kind: "died", message: `the runner failed: ${why}` } as const;
  return { ok: false, fault, usage: { cpuMs: 0, memoryPeakBytes: 0 } };
}
