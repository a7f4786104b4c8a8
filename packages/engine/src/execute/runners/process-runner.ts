import type { Isolation } from "@sallyport/protocol";
import type { Confinement, Job, ProcessProgram, Runner, RunResult } from "../../ports/runner.ts";
import type { Sandbox, SandboxOrder } from "../../ports/sandbox.ts";
import { type Argv, programArgv } from "./process-argv.ts";
import { attendCommand } from "./process-attend.ts";
import { ConfinedCalls, refusal } from "./process-calls.ts";

/** What holds while there is no sandbox; the one really in force stands on each result. */
const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_0", runner: "process" });

export interface ProcessRunnerOptions {
  sandbox: Sandbox;
  /** How long a result waits for a process that was killed and does not end. */
  patienceMs?: number;
}

/**
 * Runs commands, each in a sandbox of its own: started for the call, gone with all its children before the result is
 * out. Environment, folders, hosts and limits are those of the job's confinement and no others.
 */
export function createProcessRunner({ sandbox, patienceMs }: ProcessRunnerOptions): Runner {
  const calls = new ConfinedCalls(patienceMs);
  return {
    isolation: ISOLATION,
    run: (job) => runCommand(job, { sandbox, calls }),
    close: () => calls.close(),
  };
}

function runCommand(
  job: Job,
  { sandbox, calls }: { sandbox: Sandbox; calls: ConfinedCalls },
): Promise<RunResult> {
  const { implementation, confinement } = job;
  if (implementation.kind !== "process" || !confinement) {
    return refusal({ kind: "died", message: `${job.tool} is not a command with a sandbox` });
  }
  const { programs } = implementation;
  const program = Object.hasOwn(programs, job.operation) ? programs[job.operation] : undefined;
  if (!program) return refusal({ kind: "threw", message: `${job.tool} has no operation "${job.operation}"` });
  const command = programArgv(program, job.input);
  if (!command.ok) return refusal(command.fault);
  const { outputBytes } = confinement.limits;
  return calls.run(job, async (decision) => {
    const order = await commandOrder(job.facts.executionId, { command, program, confinement });
    const process = await sandbox.start(order);
    return { process, attend: () => attendCommand(process, { job, program, decision, outputBytes }) };
  });
}

interface OrderParts {
  command: Extract<Argv, { ok: true }>;
  program: ProcessProgram;
  confinement: Confinement;
}

/** Rejects when the workspace cannot be shown. */
async function commandOrder(
  id: string,
  { command, program, confinement }: OrderParts,
): Promise<SandboxOrder> {
  const { level, mounts, hidden, egress, limits, bounds, staging, cwd } = confinement;
  const workspace = await staging?.view();
  return {
    id,
    level,
    argv: command.argv,
    env: program.env,
    cwd,
    mounts,
    hidden,
    egress,
    limits,
    ...(workspace && { workspace }),
    ...(bounds && { bounds }),
  };
}
