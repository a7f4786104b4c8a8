import { hash } from "node:crypto";
import { canonicalJson, failure, type Issue, type Warning } from "@sallyport/protocol";
import type { EngineContext, OutputDigests } from "../context.ts";
import type { Progress } from "../journal/progress.ts";
import { LruMap } from "../lru-map.ts";
import type { Implementation } from "../ports/runner.ts";
import { checkSteps, unfitResult } from "../validate/index.ts";
import { limitsOf } from "./job.ts";
import {
  type Checked,
  type Ending,
  fail,
  type Known,
  type Ran,
  type ResultAccepted,
  rollBack,
} from "./steps.ts";

/** Checks the input before anybody is asked for permission (R1-6.1). The checked copy is the only one used from here. */
export function validate(at: Known, context: EngineContext): Checked | Ending {
  const { attempt, progress, tool, life } = at;
  const { read } = attempt.received;
  if (!read.ok) return fail(at, read.failure);
  const { value } = read;
  const checked = context.schemas.compile(tool.operation.inputSchema).validate(value);
  if (!checked.ok) return fail(at, checked.kind === "unusable" ? checked.failure : invalid(checked, at));
  return { attempt, progress, tool, life: life.validated(progress, value) };
}

function invalid({ issues, more }: { issues: Issue[]; more: number }, { tool }: Known) {
  const [first] = issues;
  const others = issues.length - 1 + more;
  const where = first
    ? `: ${first.path || "/"} ${first.reason}${others > 0 ? ` (and ${others} more)` : ""}`
    : "";
  const message = `The input of ${tool.manifest.id} ${tool.operationName} is not valid${where}`;
  return failure("E3901", { message, issues });
}

/** Lets a result through only as its schema promises; anything else rolls the call back (R1-6.2). */
export function checkResult(
  at: Ran,
  context: EngineContext,
): ResultAccepted | Ending | Promise<ResultAccepted | Ending> {
  const { attempt, tool } = at;
  const { outputSchema } = tool.operation;
  const unfit = unfitResult(at.output, context.limits.input.maxDepth);
  if (unfit) return rollBack(at, unfit);
  const warnings: Warning[] = [];
  const checked = checkSteps(
    context.resultSteps,
    { value: at.output, text: at.text ?? JSON.stringify(at.output) },
    {
      maxOutputBytes: limitsOf(attempt, tool, context).maxOutputBytes,
      validate: outputSchema && ((value) => context.schemas.compile(outputSchema).validate(value)),
      warn: (warning) => warnings.push(warning),
    },
  );
  const progress = withWarnings(at.progress, warnings);
  if ("refused" in checked) return rollBack({ ...at, progress }, checked.refused);
  const { value: output, text: outputText } = checked;
  const accepted = { ...at, progress, output, outputText, outputHash: hash("sha256", outputText) };
  if (tool.traits.deterministic) accepted.progress = compareOutput(accepted, context);
  return accepted;
}

function withWarnings(progress: Progress, more: readonly Warning[]): Progress {
  return more.length === 0 ? progress : { ...progress, warnings: [...progress.warnings, ...more] };
}

const MAX_OUTPUTS = 10_000;

/** What deterministic tools gave back, by code, caller, input and the state they read. The oldest are forgotten. */
export class OutputComparison {
  readonly #outputs = new LruMap<string, { text: string; canonical: string }>(MAX_OUTPUTS);
  /** Code that is replaced counts as another tool. */
  readonly #codes = new WeakMap<Implementation, number>();
  #lastCode = 0;

  /** Whether an output differs from the one that was seen before under the same circumstances. */
  differs(at: { implementation: Implementation; circumstances: string }, output: OutputDigests): boolean {
    const code = this.#codes.get(at.implementation) ?? ++this.#lastCode;
    if (code === this.#lastCode) this.#codes.set(at.implementation, code);
    const key = `${code} ${at.circumstances}`;
    const before = this.#outputs.get(key);
    if (before?.text === output.text) return false;
    const canonical = output.canonical();
    if (!before) this.#outputs.set(key, { text: output.text, canonical });
    return before !== undefined && before.canonical !== canonical;
  }
}

/**
 * Compares what a deterministic tool gave with what it gave before for the same input and state (R1-4.1). A difference
 * is counted, reported (E3511) and noted on the answer and the event; the call does not fail. A tool with files, or one
 * that has listed its keys, is not compared: what it has seen is not known.
 */
function compareOutput(
  { progress, tool, transaction, output, outputHash }: ResultAccepted,
  context: EngineContext,
): Progress {
  const { implementation, manifest, operationName } = tool;
  if (!implementation || progress.held || transaction.files) return progress;
  const state = transaction.state.seen();
  if (state === undefined) return progress;
  const { callId, tenant, agent, user, session } = progress.call;
  const circumstances = [operationName, tenant, agent, user, session, progress.inputHash, state];
  const at = { implementation, circumstances: JSON.stringify(circumstances) };
  const canonical = () => hash("sha256", canonicalJson(output));
  if (!context.outputs.differs(at, { text: outputHash, canonical })) return progress;
  const { message, code } = failure("E3511");
  context.telemetry.differed(manifest.id);
  context.errors.report({ error: new Error(message), code, callId, tool: manifest.id, stage: "result" });
  const noted = { ...progress, note: progress.note ?? `${code}: ${message}` };
  return withWarnings(noted, [{ code, message }]);
}
