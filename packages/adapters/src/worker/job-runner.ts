import { createProcessRunner } from "@sallyport/engine";
import type { Implementation, Job, Runner, RunResult, Sandbox } from "@sallyport/engine/ports";
import {
  type Asked,
  broken,
  judgeAnswer,
  late,
  NO_OBJECT,
  noWorker,
  type Outcome,
  withoutUsage,
  workerRequest,
} from "./envelope.ts";
import { bindJob, type JobImplementation } from "./worker-implementation.ts";

/** What holds while there is no sandbox; the one really in force stands on each result. */
const ISOLATION = Object.freeze({ level: "LEVEL_0", runner: "job_worker" } as const);

/**
 * The runner of tools of kind `job_worker`: each call is one run of a command in a sandbox of its own, the envelope on
 * stdin and stdout. Where it may connect to is enforced by the sandbox. The envelope counts towards the output limit.
 */
export function createJobRunner({ sandbox }: { sandbox: Sandbox }): Runner {
  const processes = createProcessRunner({ sandbox });
  return {
    kind: "job_worker",
    isolation: ISOLATION,
    isSandboxed: true,
    bind: bindJob,
    ...(processes.prepare && { prepare: processes.prepare }),
    run: async (job) => await runJob(job, processes),
    close: () => processes.close(),
  };
}

function isJob(implementation: Implementation): implementation is JobImplementation {
  return implementation.kind === "job_worker" && typeof implementation.program === "object";
}

async function runJob(job: Job, processes: Runner): Promise<RunResult> {
  const { implementation, operation, tool } = job;
  if (!isJob(implementation)) return withoutUsage(noWorker(job));
  const request = workerRequest(job, implementation);
  if (!request) return withoutUsage(NO_OBJECT);
  const programs = { [operation]: implementation.program };
  const result = await processes.run({
    ...job,
    implementation: { kind: "process", programs },
    input: request,
  });
  const { usage, sandbox } = result;
  const outcome = outcomeOf(result, job, { tool, meta: request.meta });
  return { ...outcome, usage, ...(sandbox && { sandbox }) };
}

/** A result of the process as the worker's; what the sandbox says of a process stands. */
function outcomeOf(result: RunResult, job: Job, asked: Asked): Outcome {
  if (result.ok) return judgeAnswer(result.output, asked);
  const { fault } = result;
  if (fault.kind === "timeout") return late(job);
  return fault.kind === "not_json" ? broken(asked, fault.message) : { ok: false, fault };
}
