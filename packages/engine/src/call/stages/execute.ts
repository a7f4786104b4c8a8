import { type Failure, failure, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { HeldRun } from "../../approve/order.ts";
import { classify } from "../../execute/classify.ts";
import { isJsonObjectText } from "../../execute/runners/describe-thrown.ts";
import type { GuardedHost } from "../../execute/tool-host.ts";
import type { Job, Runner, RunResult } from "../../ports/runner.ts";
import { redactText } from "../../redact/redact.ts";
import { rollBack } from "../ending-steps.ts";
import type { House } from "../house.ts";
import { jobOf, runnerOf } from "../job.ts";
import { escapeOf, noteSandbox } from "../sandbox-notes.ts";
import type { Ending, Intended, Ran } from "../steps.ts";

/** Runs the tool. Whatever happens in there comes out as a result or as a rolled-back call. */
export async function execute(at: Intended, house: House): Promise<Ran | Ending> {
  const { attempt, tool } = at;
  if (attempt.held) {
    begun(at, house);
    return committingHeld(at, attempt.held);
  }
  if (!tool.implementation) return await rollBack(at, failure("E3920"));
  const job = jobOf(at, tool.implementation, house);
  attempt.ran = true;
  begun(at, house);
  const result = await runSafely(runnerOf(tool, house), job);
  attempt.usage = result.usage ?? attempt.usage;
  noteSandbox(attempt, result.sandbox);
  attempt.facts.uses = usesOf(job.host);
  const breakout = escapeOf(at, result);
  if (breakout) attempt.violate(breakout);
  if (attempt.violation) return await endViolation(at, attempt.violation, house);
  if (result.ok) return { ...at, output: result.output };
  const classified = classify(result.fault, { ...job, idempotent: tool.conduct.idempotent });
  const error: Failure = { ...classified, message: withoutSecrets(classified.message) };
  report(at, result.fault, error, house);
  return await rollBack(at, error);
}

/** It has run before the question was put: what it did then is what was approved. */
function committingHeld(at: Intended, { output, usage, sandbox }: HeldRun): Ran {
  at.attempt.ran = true;
  at.attempt.usage = usage;
  noteSandbox(at.attempt, sandbox);
  return { ...at, output };
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
async function endViolation(at: Intended, violation: Failure, house: House): Promise<Ending> {
  at.attempt.facts.error = violation;
  const isToolsOwn = violation.details?.severity !== undefined;
  const kind = violation.code === "E3109" ? "ESCAPE_ATTEMPT" : "CAPABILITY_VIOLATION";
  if (isToolsOwn) at.attempt.record(kind, house.clock.now());
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

/** Counting a use must not fail a call that was allowed. */
function begun({ attempt }: Intended, house: House): void {
  const { decision } = attempt.facts;
  if (!decision || !house.authority.began) return;
  try {
    house.authority.began(decision, { callId: attempt.callId, at: house.clock.now() });
  } catch (error) {
    house.errors.report({ error, code: "E3900", callId: attempt.callId, stage: "execute" });
  }
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

function report({ attempt, tool }: Intended, fault: unknown, error: Failure, house: House): void {
  house.errors.report({
    error: fault,
    code: error.code,
    callId: attempt.callId,
    tool: tool.manifest.id,
    stage: "execute",
  });
}
