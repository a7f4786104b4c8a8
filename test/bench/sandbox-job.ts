import type { Job, ToolHost } from "@sallyport/engine/ports";
import { BOUNDS } from "./sandbox-orders.ts";

/** The tool's module as it stands. */
export const SUBJECT = new URL("./sandbox-subject.ts", import.meta.url).href;

/** One call of the script tool. */
export function sumJob(moduleUrl: string = SUBJECT): Job {
  const { limits } = BOUNDS;
  return {
    tool: "bench.sum",
    version: "1.0.0",
    operation: "run",
    implementation: { kind: "script", moduleUrl },
    input: { a: 2, b: 3 },
    facts: {
      callId: "bench",
      executionId: crypto.randomUUID(),
      attempt: 1,
      tenant: "bench",
      agent: "bench",
      deadlineAt: Date.now() + limits.wallMs,
      maxOutputBytes: 1_000_000,
      availableBytes: 65_536,
    },
    host: NO_HOST,
    timeoutMs: limits.wallMs,
    memoryBytes: limits.memoryBytes,
    maxOutputBytes: limits.outputBytes,
    signal: new AbortController().signal,
    confinement: BOUNDS,
  };
}

const unused = async () => {
  throw new Error("the tool of the benchmark asks for nothing");
};

const NO_HOST: ToolHost = {
  get: unused,
  put: unused,
  delete: unused,
  keys: unused,
  use: unused,
  progress: () => undefined,
  output: async () => true,
  files: {
    read: unused,
    write: unused,
    remove: unused,
    rename: unused,
    makeFolder: unused,
    link: unused,
    setMode: unused,
    list: unused,
    stat: unused,
  },
};
