import { type Isolation, SallyportError } from "@sallyport/protocol";
import type { Job, RunFault, RunResult, RunUsage } from "../../ports/runner.ts";
import type { SandboxEnd, SandboxEnding, SandboxProcess, SandboxUsage } from "../../ports/sandbox.ts";
import { cleanText, describeThrown } from "./describe-thrown.ts";
import type { Decision, Verdict } from "./process-decision.ts";

// The life of a call in a process of its own, the same for every kind of it:
//   starting – a sandbox is made or claimed; a call decided meanwhile waits for it only so long, and whatever comes
//              later is killed at once;
//   running  – somebody attends to the process, until it ends or the call is decided;
//   ending   – decided: the process is killed, and the result waits (a bounded time) until its whole tree is gone,
//              because only then it is known what it used, what it tried, and that it does nothing any more;
//   over     – one result, nothing left behind.

export const NO_USAGE: RunUsage = Object.freeze({ cpuMs: 0, memoryPeakBytes: 0 });

/** A process that was made or claimed for a call. */
export interface Started {
  process: SandboxProcess;
  /** Begins to talk with it. */
  attend(): Attendance;
}

/** What a kind of call does with its process. */
export interface Attendance {
  /** What it means that the process has ended by itself, with an exit code or a signal. Never rejects. */
  conclude(end: SandboxEnd): Verdict | Promise<Verdict>;
  /** Processor time that belongs to no call, because it was spent before this one. */
  cpuBeforeMs?(): number;
}

/** Runs a call to its end. Never rejects; a start that rejects with a SallyportError means that nothing could run. */
export async function liveThrough(
  job: Job,
  decision: Decision,
  starting: Promise<Started>,
): Promise<RunResult> {
  try {
    const started = await patiently(starting, decision);
    if (started) return await accompany(started, decision, job);
    void starting.then(
      ({ process }) => process.kill(),
      () => undefined,
    );
    return { ...(decision.verdict ?? crashed("no sandbox was made in time")), usage: NO_USAGE };
  } catch (error) {
    return { ok: false, fault: startFault(error), usage: NO_USAGE };
  } finally {
    decision.release();
  }
}

async function accompany({ process, attend }: Started, decision: Decision, job: Job): Promise<RunResult> {
  try {
    void decision.made.then(() => process.kill());
    const attendance = attend();
    job.confinement?.onEvent?.("SANDBOX_CREATED");
    const end = await patiently(process.ended, decision);
    if (end === undefined) return unended(decision.verdict, process.isolation);
    job.confinement?.onEvent?.("SANDBOX_DESTROYED");
    const verdict = await judge(decision.verdict, end, attendance);
    const usage = usageOf(end.usage, attendance.cpuBeforeMs?.() ?? 0);
    const { enforcement, violations } = end;
    return {
      ...withinCpu(verdict, usage, job.confinement?.limits.cpuMs),
      usage,
      sandbox: { isolation: process.isolation, enforcement, violations },
    };
  } finally {
    process.kill();
  }
}

/** What was awaited, or nothing when the call is decided and waiting has gone on too long. */
async function patiently<T>(awaited: Promise<T>, decision: Decision): Promise<T | undefined> {
  const patience = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  void decision.made.then(() => {
    if (!over) timer = setTimeout(() => patience.resolve(undefined), decision.patienceMs);
  });
  try {
    return await Promise.race([awaited, patience.promise]);
  } finally {
    over = true;
    clearTimeout(timer);
  }
}

/** A breach outranks everything; a limit that was exceeded, a good result; else the first word counts. */
function judge(
  decided: Verdict | undefined,
  end: SandboxEnd,
  attendance: Attendance,
): Verdict | Promise<Verdict> {
  const { ending } = end;
  const imposed = imposedFault(ending);
  if (ending.kind === "violation" && imposed) return { ok: false, fault: imposed };
  if (decided && !decided.ok) return decided;
  if (ending.kind === "limit" && imposed) return { ok: false, fault: imposed };
  if (decided) return decided;
  return imposed ? { ok: false, fault: imposed } : attendance.conclude(end);
}

/** The fault of an ending that came from outside; exit codes and signals are for the kind of call to judge. */
function imposedFault(ending: SandboxEnding): RunFault | undefined {
  switch (ending.kind) {
    case "exited":
    case "signalled":
      return undefined;
    case "killed":
      return { kind: "cancelled" };
    case "timeout":
      return { kind: "timeout" };
    case "limit":
      return { kind: "limit", limit: ending.limit, message: cleanText(ending.message) };
    case "violation":
    case "crashed":
      return { kind: ending.kind, message: cleanText(ending.message) };
  }
}

/** Nothing is known of what the process did after its last word, so no result of it stands. */
function unended(decided: Verdict | undefined, isolation: Isolation): RunResult {
  const verdict = decided && !decided.ok ? decided : crashed("its sandbox was ended and does not stop");
  return { ...verdict, usage: NO_USAGE, sandbox: { isolation, enforcement: {}, violations: [] } };
}

function crashed(message: string): Verdict {
  return { ok: false, fault: { kind: "crashed", message } };
}

/**
 * Processor time counts from the claim: what a warm process had spent before is taken off, and the limit, which its
 * sandbox was given with an allowance for loading, is looked at again. The memory peak is that of the whole life of
 * the process: loading the module is part of it, as it is in a process started for the call.
 */
function usageOf({ cpuMs, ...rest }: SandboxUsage, cpuBeforeMs: number): RunUsage {
  return { ...rest, cpuMs: Math.max(0, cpuMs - cpuBeforeMs) };
}

function withinCpu(verdict: Verdict, { cpuMs }: RunUsage, limitMs: number | undefined): Verdict {
  if (!verdict.ok || limitMs === undefined || cpuMs <= limitMs) return verdict;
  const message = `it used ${Math.round(cpuMs)} ms; ${limitMs} ms are allowed`;
  return { ok: false, fault: { kind: "limit", limit: "cpu", message } };
}

/** Why nothing ran. */
function startFault(error: unknown): RunFault {
  if (error instanceof SallyportError) return { kind: "refused", failure: error.failure };
  return { kind: "crashed", message: `no sandbox could be started: ${describeThrown(error).message}` };
}
