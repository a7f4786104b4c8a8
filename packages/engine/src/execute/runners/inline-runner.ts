import type { Isolation } from "@sallyport/protocol";
import type { Job, Runner, RunResult } from "../../ports/runner.ts";
import { InlineCall } from "./inline-call.ts";
import { findOperation } from "./invoke-tool.ts";

const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_0", runner: "inline" });
const NO_USAGE = Object.freeze({ cpuMs: 0, memoryPeakBytes: 0 });

/**
 * Runs trusted functions in this thread. It contains what they throw and return, and its deadline holds for
 * functions that wait; it cannot stop one that never gives the thread back, nor limit its memory.
 */
export function createInlineRunner(): Runner {
  const running = new Set<InlineCall>();
  let closed = false;

  function run(job: Job): Promise<RunResult> {
    if (closed || job.signal.aborted) return refuse({ kind: "cancelled" });
    if (job.implementation.kind !== "inline") {
      return refuse({ kind: "died", message: `${job.tool} is not a function of this process` });
    }
    const operation = findOperation(job.implementation.operations, job.operation);
    if (operation === undefined) {
      return refuse({ kind: "threw", message: `${job.tool} has no operation "${job.operation}"` });
    }
    return new InlineCall(job, running).run(operation);
  }

  async function close(): Promise<void> {
    closed = true;
    for (const call of [...running]) call.stop("cancelled");
  }

  return { isolation: ISOLATION, run, close };
}

function refuse(fault: Extract<RunResult, { ok: false }>["fault"]): Promise<RunResult> {
  return Promise.resolve({ ok: false, fault, usage: NO_USAGE });
}
