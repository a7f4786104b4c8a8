import { type Failure, failure, type ResourceLimits } from "@sallyport/protocol";

const NAMES: Record<keyof ResourceLimits, string> = {
  timeoutMs: "ms of time",
  memoryBytes: "bytes of memory",
  cpuMillicores: "millicores",
  cpuTimeMs: "ms of processor time",
  maxOutputBytes: "bytes of output",
  maxFileBytes: "bytes in a file",
  maxDiskBytes: "bytes on disk",
  maxOpenFiles: "open files",
  maxProcesses: "processes",
  maxConnections: "connections",
  networkMbps: "megabits a second",
};

/** The first limit of the tool that is wider than its agent's (BC-1); one the tool does not state is its agent's. */
export function beyondLimits(
  tool: Readonly<Partial<ResourceLimits>>,
  agent: Readonly<Partial<ResourceLimits>>,
): Failure | undefined {
  for (const name of Object.keys(NAMES) as (keyof ResourceLimits)[]) {
    const wanted = tool[name];
    const allowed = agent[name];
    if (wanted === undefined || allowed === undefined || wanted <= allowed) continue;
    return failure("E3102", {
      message: `The tool may use ${wanted} ${NAMES[name]}; its agent may use ${allowed}.`,
      advice: `Call with a limit of at most ${allowed} (limits.${name}), or raise the agent's.`,
      details: { limit: name, wanted, allowed },
      retryable: false,
    });
  }
  return undefined;
}
