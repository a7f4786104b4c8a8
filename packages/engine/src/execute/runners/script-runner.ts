import type { Isolation } from "@sallyport/protocol";
import type { Confinement, Job, Runner, RunResult } from "../../ports/runner.ts";
import type { Sandbox, SandboxMount } from "../../ports/sandbox.ts";
import { type PoolCounts, type PoolOptions, SandboxPool } from "../pool/sandbox-pool.ts";
import { ConfinedCalls, refusal } from "./process-calls.ts";
import type { Decision } from "./process-decision.ts";
import type { Started } from "./process-life.ts";
import { ScriptCall } from "./script-call.ts";
import { ScriptLink } from "./script-link.ts";
import { type ScriptRuntime, scriptSpec } from "./script-spec.ts";

/** What holds while there is no sandbox; the one really in force stands on each result. */
const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_0", runner: "script" });

export interface ScriptRunnerOptions {
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

interface Parts {
  sandbox: Sandbox;
  runtime: ScriptRuntime;
  pool: SandboxPool | undefined;
  calls: ConfinedCalls;
}

/**
 * Runs tool modules, each call in a sandboxed Node process of its own. The process talks with this one over its stdin
 * and stdout, in the thread runner's frames; the tool's context is the same as there.
 */
export function createScriptRunner(options: ScriptRunnerOptions): ScriptRunner {
  const { sandbox, node, entryUrl = ownEntry(), pool: poolOptions } = options;
  const pool = poolOptions && new SandboxPool(sandbox, poolOptions);
  const calls = new ConfinedCalls(options.patienceMs);
  const parts = { sandbox, runtime: { ...node, entryUrl }, pool, calls };
  return {
    isolation: ISOLATION,
    run: (job) => runScript(job, parts),
    counts: () => pool?.counts ?? { live: 0, ready: 0 },
    retire: async (tool) => pool?.retire(tool),
    close: async () => {
      await Promise.all([calls.close(), pool?.close()]);
    },
  };
}

function runScript(job: Job, parts: Parts): Promise<RunResult> {
  const { implementation, confinement } = job;
  if (implementation.kind !== "script" || !implementation.moduleUrl.startsWith("file:") || !confinement) {
    return refusal({ kind: "died", message: `${job.tool} is not a module with a sandbox` });
  }
  const { moduleUrl } = implementation;
  return parts.calls.run(job, (decision) => startScript({ job, moduleUrl, confinement, decision }, parts));
}

interface ScriptJob {
  job: Job;
  moduleUrl: string;
  confinement: Confinement;
  decision: Decision;
}

/** A script reaches its call's workspace through its context, so any process with the same bounds will do. */
async function startScript(
  { job, moduleUrl, confinement, decision }: ScriptJob,
  parts: Parts,
): Promise<Started> {
  const { pool } = parts;
  const spec = scriptSpec(job, moduleUrl, { runtime: parts.runtime, confinement });
  const warm = pool?.take(spec);
  if (warm) {
    pool?.want(spec);
    const { link } = warm;
    return { process: link.process, attend: () => new ScriptCall({ job, decision, link, warm }) };
  }
  const process = await parts.sandbox.start({ ...spec.order, id: job.facts.executionId });
  pool?.want(spec);
  return {
    process,
    attend: () => {
      const link = new ScriptLink(process, spec.link);
      link.post({ kind: "hello", ...spec.wanted });
      return new ScriptCall({ job, decision, link });
    },
  };
}

function ownEntry(): string {
  const entry = import.meta.url.endsWith(".ts") ? "./script-entry.ts" : "./script-entry.js";
  return new URL(entry, import.meta.url).href;
}
