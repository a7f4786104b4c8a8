import type { Isolation } from "@sallyport/protocol";
import type { Job, Runner, RunResult } from "../../ports/runner.ts";
import { type ThreadCounts, ThreadPool } from "./thread-pool.ts";

const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_0", runner: "thread" });

export interface ThreadRunnerOptions {
  /** Threads alive at once; further jobs wait in line. */
  maxThreads?: number;
  /** Threads kept warm while nothing runs on them. */
  maxIdleThreads?: number;
  /** How long an idle thread is kept. */
  idleMs?: number;
  /** How often a running call's memory is read; calls shorter than this are never disturbed. */
  memoryPollMs?: number;
  /** How long a cancelled tool may tidy up before its thread is ended. */
  cancelGraceMs?: number;
}

export interface ThreadRunner extends Runner {
  /** For metrics and leak checks. */
  counts(): ThreadCounts;
}

/**
 * Runs tool modules in worker threads. Whatever a tool does to its own thread becomes a result, and its
 * deadline and memory limit hold; but a thread is not a security boundary (docs/runners.md).
 */
export function createThreadRunner(options: ThreadRunnerOptions = {}): ThreadRunner {
  const { maxThreads = 32, idleMs = 10_000, memoryPollMs = 25, cancelGraceMs = 50 } = options;
  const maxIdleThreads = options.maxIdleThreads ?? Math.ceil(maxThreads / 2);
  const pool = new ThreadPool({ maxThreads, maxIdleThreads, idleMs, memoryPollMs, cancelGraceMs });
  return {
    isolation: ISOLATION,
    run: (job) => runJob(pool, job),
    counts: () => pool.counts,
    close: () => pool.close(),
  };
}

function runJob(pool: ThreadPool, job: Job): Promise<RunResult> {
  if (job.signal.aborted) return refuse({ kind: "cancelled" });
  if (job.implementation.kind === "thread") return pool.run(job, job.implementation.moduleUrl);
  return refuse({ kind: "died", message: `${job.tool} is not a module that a thread can load` });
}

function refuse(fault: Extract<RunResult, { ok: false }>["fault"]): Promise<RunResult> {
  return Promise.resolve({ ok: false, fault, usage: { cpuMs: 0, memoryPeakBytes: 0 } });
}
