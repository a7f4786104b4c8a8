import { constants } from "node:os";
import { getSystemErrorName } from "node:util";
import type { SandboxEnding, SandboxLimits } from "@sallyport/engine";
import type { LimitName } from "@sallyport/protocol";
import type { GroupReadings } from "../cgroup/index.ts";
import type { LauncherEnd } from "../launcher/index.ts";

/** What is known about a run besides the launcher's word. */
export interface EndFacts {
  limits: SandboxLimits;
  outputExceeded: boolean;
  readings: GroupReadings | undefined;
  lastError: string;
}

/** Says in the port's words how a run ended. What ended it counts, before what it looked like from inside. */
export function endingOf(end: LauncherEnd, facts: EndFacts): SandboxEnding {
  if (facts.outputExceeded) return exceeded("output", facts.limits);
  switch (end.how) {
    case "timeout":
      return { kind: "timeout" };
    case "killed":
      return { kind: "killed" };
    case "violation":
      return { kind: "violation", message: "It called what no program needs, or was refused too often." };
    case "limit":
      return exceeded(end.limit?.limit ?? "memory", facts.limits);
    default:
      return heldByKernel(end, facts) ?? ownEnding(end, facts);
  }
}

/** Endings that look like the command's own but are a limit's doing. */
function heldByKernel(end: LauncherEnd, { limits, readings }: EndFacts): SandboxEnding | undefined {
  if (readings && readings.outOfMemory > 0) return exceeded("memory", limits);
  const hasFailed = end.how !== "exited" || end.code !== 0;
  if (hasFailed && readings && readings.processesRefused > 0) return exceeded("processes", limits);
  if (end.how !== "signalled") return undefined;
  const { SIGXCPU, SIGXFSZ, SIGKILL } = constants.signals;
  if (end.signal === SIGXFSZ) return exceeded("fileSize", limits);
  const usedUp = limits.cpuMs !== undefined && end.userMs + end.systemMs >= limits.cpuMs;
  if (end.signal === SIGXCPU || (end.signal === SIGKILL && usedUp)) return exceeded("cpu", limits);
  return undefined;
}

function ownEnding(end: LauncherEnd, facts: EndFacts): SandboxEnding {
  if (end.how === "exited" || end.how === "exec-failed") return { kind: "exited", code: end.code };
  if (end.how === "signalled") return { kind: "signalled", signal: signalName(end.signal) };
  const failed = end.message && `The sandbox could not ${end.message}`;
  const cause = end.errno > 0 ? `: ${getSystemErrorName(-end.errno)}` : "";
  const said = facts.lastError && ` (${facts.lastError})`;
  const exit = end.signal > 0 ? `was killed by ${signalName(end.signal)}` : `ended with ${end.code}`;
  return { kind: "crashed", message: `${failed || `The sandbox ${exit}`}${cause}${said}.` };
}

function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] ?? `signal ${number}`;
}

const LIMITED: Record<LimitName, { of: keyof SandboxLimits; words: string }> = {
  wall: { of: "wallMs", words: "milliseconds of time" },
  cpu: { of: "cpuMs", words: "milliseconds of processor time" },
  memory: { of: "memoryBytes", words: "bytes of memory" },
  processes: { of: "processes", words: "processes" },
  openFiles: { of: "openFiles", words: "open files" },
  fileSize: { of: "fileBytes", words: "bytes in one file" },
  disk: { of: "diskBytes", words: "bytes on disk" },
  output: { of: "outputBytes", words: "bytes of output" },
  connections: { of: "connections", words: "connections" },
};

function exceeded(limit: LimitName, limits: SandboxLimits): SandboxEnding {
  const { of, words } = LIMITED[limit];
  return { kind: "limit", limit, message: `It needed more than ${limits[of]} ${words}.` };
}
