import type { SandboxEnd } from "@sallyport/engine/ports";
import type { Attempt, Expectation } from "./attempt.ts";

/** What is known of an attempt after its end. */
export interface Evidence {
  attempt: Attempt;
  end: SandboxEnd;
  stdout: string;
  stderr: string;
  /** What must be in no output. */
  token: string;
  /** What was found on the host. */
  harm: readonly string[];
}

/** Says what is wrong with how an attempt ended; empty when it was refused as it should be. */
export function judge(evidence: Evidence): string[] {
  const { stdout, stderr, token, harm } = evidence;
  const output = `${stdout}\n${stderr}`;
  const problems: string[] = [];
  if (/^ESCAPED/m.test(output) || isExit(evidence.end, 42))
    problems.push(`ESCAPED: ${lineWith(output, "ESCAPED")}`);
  if (output.includes(token)) problems.push("the secret is in its output");
  if (/^BROKEN/m.test(stdout) || isExit(evidence.end, 99))
    problems.push(`the attack broke: ${lineWith(stdout, "BROKEN")}`);
  if (!/^TRYING/m.test(stdout)) problems.push("the attack did not run");
  const misses = evidence.attempt.expect.map((one) => missed(one, evidence));
  if (misses.every((why) => why !== undefined))
    problems.push(`its ending is not as expected: ${misses.join("; ")}`);
  return [...problems, ...harm];
}

/** Why the evidence does not fit an expectation; undefined when it does. */
function missed(expected: Expectation, { end, stdout }: Evidence): string | undefined {
  const { ending } = end;
  switch (expected.kind) {
    case "refused": {
      const codes = refusalCodes(stdout);
      const other = codes.find((code) => !expected.codes.includes(code));
      if (!isExit(end, 0)) return `not an end of its own but ${describe(end)}`;
      if (codes.length === 0) return "nothing was refused";
      return other && `refused by ${other} instead of ${expected.codes.join(", ")}`;
    }
    case "contained":
      if (!isExit(end, 0)) return `not an end of its own but ${describe(end)}`;
      return /^CONTAINED/m.test(stdout) ? undefined : "it did not get to its end";
    case "violation": {
      const { syscall, severity } = expected;
      const found = end.violations.some(
        (one) => one.type === "SYSCALL" && one.subject === syscall && one.severity === severity,
      );
      const endsRight = expected.ends ? ending.kind === "violation" : isExit(end, 0);
      if (!found) return `no ${severity} violation about ${syscall}, ended with ${describe(end)}`;
      return endsRight ? undefined : `the violation is on record, but it ended with ${describe(end)}`;
    }
    case "limit":
      return ending.kind === "limit" && ending.limit === expected.limit
        ? undefined
        : `not limit ${expected.limit} but ${describe(end)}`;
    case "signalled":
      return ending.kind === "signalled" && ending.signal === expected.signal
        ? undefined
        : `not ${expected.signal} but ${describe(end)}`;
    case "exited":
      return isExit(end, expected.code) ? undefined : `not exit ${expected.code} but ${describe(end)}`;
    case "timeout":
      return ending.kind === "timeout" ? undefined : `not a timeout but ${describe(end)}`;
  }
}

/** By which errors the ways were refused, in the order they were tried. */
export function refusalCodes(stdout: string): string[] {
  return [...stdout.matchAll(/^REFUSED .* (\S+)$/gm)].map((match) => match[1] ?? "");
}

/** How it ended, in a few words. */
export function describe({ ending, violations }: SandboxEnd): string {
  const noticed = violations.map(({ subject, severity }) => `${subject} ${severity}`);
  const about = noticed.length > 0 ? ` [${noticed.join(", ")}]` : "";
  switch (ending.kind) {
    case "exited":
      return `exit ${ending.code}${about}`;
    case "signalled":
      return `${ending.signal}${about}`;
    case "limit":
      return `limit ${ending.limit}${about}`;
    case "crashed":
      return `a crash: ${ending.message}${about}`;
    case "violation":
    case "timeout":
    case "killed":
      return `${ending.kind}${about}`;
  }
}

function isExit({ ending }: SandboxEnd, code: number): boolean {
  return ending.kind === "exited" && ending.code === code;
}

function lineWith(text: string, word: string): string {
  return text.split("\n").find((line) => line.startsWith(word)) ?? "(exit code only)";
}
