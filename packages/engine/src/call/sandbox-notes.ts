import { type Failure, failure } from "@sallyport/protocol";
import type { RunResult, SandboxReport } from "../ports/runner.ts";
import type { Attempt } from "./attempt.ts";
import type { Intended } from "./steps.ts";

/** Puts what really held and what was tried on record with the call. */
export function noteSandbox({ facts }: Attempt, sandbox: SandboxReport | undefined): void {
  if (!sandbox) return;
  facts.isolation = sandbox.isolation;
  facts.enforcement = sandbox.enforcement;
  if (sandbox.violations.length > 0) facts.violations = sandbox.violations;
}

/**
 * The breach a sandboxed run ended by, or a critical one that it outlived: either way the call does not stand, and the
 * tool is kept apart until a person has looked at it (R2-3).
 */
export function escapeOf({ tool }: Pick<Intended, "tool">, result: RunResult): Failure | undefined {
  const violations = result.sandbox?.violations ?? [];
  const critical = violations.find(({ severity }) => severity === "CRITICAL");
  const endedByIt = !result.ok && result.fault.kind === "violation";
  if (!critical && !endedByIt) return undefined;
  const worst = critical ?? violations[0];
  const what = worst?.description ?? "it broke the rules of its sandbox";
  return failure("E3109", {
    message: `${tool.manifest.id} tried to leave its sandbox: ${what}.`,
    details: {
      severity: critical ? "critical" : "high",
      ...(worst && { type: worst.type, subject: worst.subject, times: worst.times }),
    },
  });
}
