import { type Failure, isFailure, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { EngineContext } from "../context.ts";
import type { GuardedHost } from "../execute/index.ts";
import { cancelled, classify, escapeOf, isJsonObjectText, refused } from "../execute/index.ts";
import type { PreviewedRun, Progress } from "../journal/progress.ts";
import type { Implementation, Job, Runner, RunResult, SandboxReport } from "../ports/runner.ts";
import { redactText } from "../redact/redact.ts";
import type { ResolvedTool } from "../registry/index.ts";
import { type GuardedJob, jobOf, runnerOf, sandboxFacts } from "./job.ts";
import { withoutCode } from "./resolve.ts";
import { type Ending, type Intended, type Ran, rollBack } from "./steps.ts";

type Next = Ran | Ending | Promise<Ran | Ending>;

/** Runs the tool. Whatever happens in there comes out as a result or as a rolled-back call. */
export function execute(at: Intended, context: EngineContext): Next {
  const { attempt, tool } = at;
  // Cancelled while the intent was written: nothing of it has started, and nothing will.
  if (attempt.signal.aborted) return rollBack(at, attempt.violation ?? cancelled(attempt.signal));
  if (at.progress.held) return committingHeld(at, at.progress.held);
  const { id, version } = tool.manifest;
  if (!tool.implementation || !isStillThere(tool, context))
    return rollBack(
      at,
      withoutCode(id, `${version} was taken away while the call waited: nothing runs it here any more`),
    );
  attempt.ran = true;
  const run = runTool(at, tool.implementation, context);
  return run instanceof Promise ? run.then((ended) => after(ended, at)) : after(run, at);
}

/** A version may have gone while the call waited to run; calls that run already finish. */
function isStillThere(
  { manifest, implementation }: ResolvedTool,
  { registry, clock }: EngineContext,
): boolean {
  const { id, version } = manifest;
  if (registry.version(id, version)?.implementation) return true;
  if (!implementation?.outlivesVersion) return false;
  const instead = registry.resolve({ tool: id, now: clock.now() });
  return !isFailure(instead) && instead.implementation !== undefined;
}

function after({ error, output, text, progress }: ToolRun, at: Intended): Next {
  return error ? rollBack({ ...at, progress }, error) : { ...at, progress, output, text };
}

/** What came of running a tool: its output, or why there is none. */
export type ToolRun = { progress: Progress; sandbox: SandboxReport | undefined } & (
  | { output: JsonValue; text: string | undefined; error?: undefined }
  | { output?: undefined; text?: undefined; error: Failure }
);

/** Reaches the tool's code, once. Whatever breaches the tool's bounds is on record for itself, and is the error. */
export function runTool(
  at: Omit<Intended, "life">,
  implementation: Implementation,
  context: EngineContext,
): ToolRun | Promise<ToolRun> {
  const job = jobOf(at, implementation, context);
  const result = runSafely(runnerOf(at.tool, context), job);
  return result instanceof Promise
    ? result.then((late) => judged(late, { ...at, job }, context))
    : judged(result, { ...at, job }, context);
}

function judged(
  result: RunResult,
  { attempt, tool, job, transaction, progress: before }: Omit<Intended, "life"> & { job: GuardedJob },
  context: EngineContext,
): ToolRun {
  const { id } = tool.manifest;
  const { sandbox } = result;
  const progress: Progress = {
    ...before,
    ...sandboxFacts(sandbox, runnerOf(tool, context)),
    usage: result.usage ?? before.usage,
    uses: usesOf(job.host),
  };
  const breakout = escapeOf(id, result);
  if (breakout) attempt.violate(breakout);
  const { violation } = attempt;
  if (violation) {
    const isToolsOwn = violation.details?.severity !== undefined;
    const kind = violation.code === "E3109" ? "ESCAPE_ATTEMPT" : "CAPABILITY_VIOLATION";
    if (isToolsOwn) attempt.record(kind, context.clock.now(), { ...progress, error: violation });
    return { progress, sandbox, error: violation };
  }
  if (result.ok) return { progress, sandbox, output: result.output, text: result.text };
  const { fault } = result;
  // A tool that fails because the store is away is no defective tool.
  const lost = fault.kind === "threw" && fault.code === undefined ? transaction.state.lost : undefined;
  const classified = lost ?? classify(fault, { ...job, idempotent: tool.traits.idempotent });
  const error: Failure = { ...classified, message: withoutSecrets(classified.message) };
  const { callId } = attempt;
  context.errors.report({ error: fault, code: error.code, callId, tool: id, stage: "execute" });
  return { progress, sandbox, error };
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
function runSafely(runner: Runner, job: Job): RunResult | Promise<RunResult> {
  try {
    const result = runner.run(job);
    return isResult(result) ? result : Promise.resolve(result).then(checkedResult, brokenBy);
  } catch (error) {
    return brokenBy(error);
  }
}

function checkedResult(result: RunResult): RunResult {
  return isResult(result) ? result : brokenBy("it gave no result");
}

function isResult(result: RunResult | Promise<RunResult>): result is RunResult {
  return typeof result === "object" && result !== null && "ok" in result && typeof result.ok === "boolean";
}

function brokenBy(error: unknown): RunResult {
  const why = error instanceof Error ? error.message : String(error);
  return refused({ kind: "died", message: `the runner failed: ${why}` });
}
