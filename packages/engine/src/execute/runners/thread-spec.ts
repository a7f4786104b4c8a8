import type { WorkerOptions } from "node:worker_threads";
import type { Job } from "../../ports/runner.ts";
import type { Handover } from "./thread-frames.ts";

const MIB = 1_048_576;
/** Node itself takes 11 MiB of a thread, 25 when it strips types: a lower limit would measure Node, not the tool. */
const LEAST_MEMORY_MIB = 64;
const HEADROOM_MIB = 1_024;
const PASSED_ON = ["TZ", "LANG", "NODE_ENV"];

/** What a thread is for. Only a job with the same key may run on it: nothing leaks between tenants or tools. */
export interface ThreadSpec {
  key: string;
  moduleUrl: string;
  tool: string;
  version: string;
  memoryLimitBytes: number;
}

/** The thread a job needs. */
export function specFor(job: Job, moduleUrl: string): ThreadSpec {
  const { tool, version } = job;
  const memoryMib = Math.max(LEAST_MEMORY_MIB, Math.ceil(job.memoryBytes / MIB));
  const key = JSON.stringify([job.facts.tenant, tool, version, moduleUrl, memoryMib]);
  return { key, moduleUrl, tool, version, memoryLimitBytes: memoryMib * MIB };
}

/** The part of the handover that can be told in advance. */
export function threadHandover({ moduleUrl, tool, version }: ThreadSpec): Omit<Handover, "port"> {
  return { moduleUrl, tool, version };
}

/**
 * How the worker is started: without the host's environment, flags and output.
 *
 * V8's own heap limit stands well above the tool's limit on purpose. When a single allocation does not fit
 * under it (`new Array(1e8).fill(0)`, a growing Map), V8 aborts the whole process, not the thread. The tool's
 * limit is therefore kept by measuring, and V8's is only the last line.
 */
export function workerOptions(spec: ThreadSpec): WorkerOptions {
  const memoryMib = spec.memoryLimitBytes / MIB;
  return {
    name: "sallyport-tool",
    env: cleanEnvironment(),
    argv: [],
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMib + HEADROOM_MIB,
      maxYoungGenerationSizeMb: Math.min(48, Math.max(4, memoryMib / 4)),
    },
  };
}

function cleanEnvironment(): Record<string, string> {
  const kept = PASSED_ON.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(kept.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
