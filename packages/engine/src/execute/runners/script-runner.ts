import type { Isolation } from "@sallyport/protocol";
import type { Confinement, Job, Runner, RunResult } from "../../ports/runner.ts";
import type { Sandbox, SandboxMount } from "../../ports/sandbox.ts";
import { prepareCall } from "../confinement.ts";
import { type OutcomeLatch, refused } from "./outcome-latch.ts";
import { type PoolCounts, type PoolOptions, SandboxPool } from "./sandbox-pool.ts";
import { ScriptProcess } from "./script-process.ts";
import { type ScriptRuntime, scriptSpec } from "./script-spec.ts";
import { type StartedProcess, SupervisedCalls } from "./supervise.ts";
import { isModule, programBeside } from "./wire.ts";

/** What holds while there is no sandbox; the one really in force stands on each result. */
const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_0", runner: "script" });

interface ScriptRunnerOptions {
  sandbox: Sandbox;
  /** Node as it is seen inside, and what must be shown for it and for the engine's own modules. */
  node: { path: string; mounts: readonly SandboxMount[] };
  /** The program that serves a tool; the engine's own when left out. */
  entryUrl?: string;
  /** How long a result waits for a process that was killed and does not end. */
  patienceMs?: number;
  /** Left out: every call starts a process of its own. */
  pool?: PoolOptions;
}

export interface ScriptRunner extends Runner {
  /** For metrics and leak checks. */
  counts(): PoolCounts;
  /** Ends the processes that wait with that tool's code. */
  retire(tool: string): Promise<void>;
}

interface RunnerParts {
  sandbox: Sandbox;
  runtime: ScriptRuntime;
  pool: SandboxPool | undefined;
  calls: SupervisedCalls;
}

/**
 * Runs tool modules, each call in a sandboxed Node process of its own. The process talks with this one over its stdin and
 * stdout, in the thread runner's frames; the tool's context is the same as there.
 */
export function createScriptRunner(options: ScriptRunnerOptions): ScriptRunner {
  const {
    sandbox,
    node,
    entryUrl = programBeside(import.meta.url, "script-entry").href,
    pool: poolOptions,
  } = options;
  const pool = poolOptions && new SandboxPool(sandbox, poolOptions);
  const calls = new SupervisedCalls(options.patienceMs);
  const parts = { sandbox, runtime: { ...node, entryUrl }, pool, calls };
  return {
    kind: "script",
    isolation: ISOLATION,
    isSandboxed: true,
    prepare: (call, rules) => prepareCall(call, rules, "asking"),
    run: (job) => runScript(job, parts),
    counts: () => pool?.counts ?? { live: 0, ready: 0 },
    retire: async (tool) => pool?.retire(tool),
    close: async () => {
      await Promise.all([calls.close(), pool?.close()]);
    },
  };
}

function runScript(job: Job, parts: RunnerParts): RunResult | Promise<RunResult> {
  const { implementation, confinement } = job;
  if (!isModule(implementation) || !implementation.moduleUrl.startsWith("file:") || !confinement) {
    return refused({ kind: "died", message: `${job.tool} is not a module with a sandbox` });
  }
  const { moduleUrl } = implementation;
  return parts.calls.run(job, (latch) => startScript({ job, moduleUrl, confinement, latch }, parts));
}

interface ScriptJob {
  job: Job;
  moduleUrl: string;
  confinement: Confinement;
  latch: OutcomeLatch;
}

/** A script reaches its call's workspace through its context, so any process with the same bounds will do. */
async function startScript(
  { job, moduleUrl, confinement, latch }: ScriptJob,
  { sandbox, runtime, pool }: RunnerParts,
): Promise<StartedProcess> {
  const spec = scriptSpec(job, { moduleUrl, runtime, confinement });
  const retirements = pool?.retirements(job.tool);
  const warm = pool?.take(spec);
  const startedAt = performance.now();
  const process = warm?.process ?? (await sandbox.start({ ...spec.order, id: job.facts.executionId }));
  if (pool?.retirements(job.tool) === retirements) pool?.want(spec);
  return {
    process,
    open: () => (warm ?? new ScriptProcess(process, spec, startedAt)).serve(job, latch),
  };
}
