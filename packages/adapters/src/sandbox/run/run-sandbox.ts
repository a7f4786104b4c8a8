import { constants } from "node:os";
import { type Readable, Transform } from "node:stream";
import { getSystemErrorName } from "node:util";
import type {
  SandboxEnd,
  SandboxEnding,
  SandboxLimits,
  SandboxOrder,
  SandboxProcess,
} from "@sallyport/engine/ports";
import type { Isolation, LimitName, Violation } from "@sallyport/protocol";
import type { GroupReadings } from "../cgroup/index.ts";
import { type LauncherEnd, type RefusedSyscall, type Supervised, supervise } from "../launcher/index.ts";
import type { OpenedEgress, SandboxEvent } from "../options.ts";
import { type FilterArch, isFilterArch, syscallName, syscallSeverity } from "../seccomp/index.ts";
import type { PreparedRun } from "./prepare-run.ts";

/** System calls that were refused and seen, by call and program. */
function syscallViolations(refused: readonly RefusedSyscall[], arch: FilterArch, at: number): Violation[] {
  const found = new Map<string, Violation>();
  for (const { nr, comm } of refused) {
    const name = syscallName(nr, arch);
    const subject = name ?? `syscall ${nr}`;
    const key = `${subject} ${comm}`;
    const known = found.get(key);
    if (known) known.times++;
    else {
      const description = `${subject} was called by ${comm}`;
      found.set(key, {
        type: "SYSCALL",
        severity: syscallSeverity(name),
        description,
        subject,
        times: 1,
        at,
      });
    }
  }
  return [...found.values()];
}

/** Hosts that the policy does not allow; running into a limit of the proxy is no violation. */
function networkViolations(refusals: ReturnType<OpenedEgress["refusals"]>, at: number): Violation[] {
  return refusals
    .filter(({ code }) => code === undefined || code === "E3104")
    .map(({ host, port, why, times }) => {
      const subject = `${host}:${port}`;
      return {
        type: "NETWORK",
        severity: "HIGH",
        description: `${subject} was refused: ${why}`,
        subject,
        times,
        at,
      };
    });
}

/** How much of the end of the error output is kept for a message. */
const KEPT_BYTES = 2048;
/** Between two pieces beyond a limit that ends nothing, so that endless output leaves time for all else. */
const PAUSE_MS = 1;

/**
 * Counts what a process writes to stdout and stderr together. What is beyond the limit is not handed on; without
 * `onExceeded` it is, but slowly.
 */
export class OutputMeter {
  readonly #limit: number;
  readonly #onExceeded: (() => void) | undefined;
  #bytes = 0;
  #lastError = Buffer.alloc(0);

  constructor(limit: number, onExceeded: (() => void) | undefined) {
    this.#limit = limit;
    this.#onExceeded = onExceeded;
  }

  get isExceeded(): boolean {
    return this.#onExceeded !== undefined && this.#bytes > this.#limit;
  }

  /** The end of the error output, for a sandbox that could not be made. */
  get lastError(): string {
    return this.#lastError.toString("utf8").trim();
  }

  /** The same stream, metered. */
  through(stream: Readable, kind: "stdout" | "stderr"): Readable {
    const metered = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        if (kind === "stderr")
          this.#lastError = Buffer.concat([this.#lastError, chunk]).subarray(-KEPT_BYTES);
        const taken = this.#take(chunk);
        if (this.#onExceeded || this.#bytes <= this.#limit) done(null, taken);
        else setTimeout(() => done(null, taken), PAUSE_MS);
      },
    });
    // The far end is gone: for whoever reads that is simply the end.
    stream.once("error", () => metered.end());
    return stream.pipe(metered);
  }

  #take(chunk: Buffer): Buffer {
    const room = Math.max(0, this.#limit - this.#bytes);
    const wasExceeded = this.isExceeded;
    this.#bytes += chunk.length;
    if (this.isExceeded && !wasExceeded) this.#onExceeded?.();
    return chunk.length <= room || !this.#onExceeded ? chunk : chunk.subarray(0, room);
  }
}

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
  const { SIGXCPU, SIGXFSZ, SIGKILL } = constants.signals;
  // A shell says by its own code what its command was ended by.
  const ofShell = end.how === "exited" && end.code === 128 + SIGXFSZ;
  if (ofShell || (end.how === "signalled" && end.signal === SIGXFSZ)) return exceeded("fileSize", limits);
  if (end.how !== "signalled") return undefined;
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
  const message = `${failed || `The sandbox ${exit}`}${cause}${said}.`;
  // The launcher says so before anything of the command has run.
  return { kind: "crashed", message, ...(end.message !== undefined && { notMade: true as const }) };
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

/** A run that is ready to start. */
interface RunOrder {
  order: SandboxOrder;
  isolation: Isolation;
  prepared: PreparedRun;
  tell(event: SandboxEvent): void;
}

/** Starts a prepared run and follows it to its end, which includes that nothing of it is left. */
export function runSandbox(run: RunOrder): SandboxProcess {
  const { order, isolation, tell } = run;
  const supervised = supervise(run.prepared.supervise);
  const meter = new OutputMeter(
    order.limits.outputBytes,
    order.isOutputCut ? undefined : () => supervised.kill(),
  );
  const stdout = meter.through(supervised.stdout, "stdout");
  const stderr = meter.through(supervised.stderr, "stderr");
  tell({
    event: "SANDBOX_CREATED",
    id: order.id,
    details: { level: isolation.level, runner: isolation.runner },
  });
  return {
    isolation,
    stdin: supervised.stdin,
    stdout,
    stderr,
    ended: followToEnd(run, supervised, meter),
    kill: () => supervised.kill(),
  };
}

async function followToEnd(run: RunOrder, supervised: Supervised, meter: OutputMeter): Promise<SandboxEnd> {
  const { order, prepared, tell } = run;
  const end = await supervised.ended;
  const readings = prepared.group?.read();
  const result = resultOf({ run, end, readings, meter });
  tell({ event: "SANDBOX_EXITED", id: order.id, details: { ending: result.ending.kind } });
  tellTrouble(run, result);
  const left = await prepared.dispose().then(
    (): string[] => [],
    (error: unknown) => [error instanceof Error ? error.message : String(error)],
  );
  if (end.left > 0) left.push(`${end.left} processes that the kernel does not let go`);
  tell({ event: "SANDBOX_DESTROYED", id: order.id, details: { left } });
  return result;
}

interface EndParts {
  run: RunOrder;
  end: LauncherEnd;
  readings: GroupReadings | undefined;
  meter: OutputMeter;
}

function resultOf({ run, end, readings, meter }: EndParts): SandboxEnd {
  const { order, prepared } = run;
  const network = prepared.egress?.usage();
  return {
    ending: endingOf(end, {
      limits: order.limits,
      outputExceeded: meter.isExceeded,
      readings,
      lastError: meter.lastError,
    }),
    usage: {
      cpuMs: Math.max(end.userMs + end.systemMs, readings?.cpuMs ?? 0),
      memoryPeakBytes: Math.max(end.maxRssBytes, readings?.memoryPeakBytes ?? 0),
      networkBytesSent: network?.sent ?? 0,
      networkBytesReceived: network?.received ?? 0,
    },
    enforcement: prepared.enforcement,
    violations: violationsOf(prepared, end),
  };
}

function violationsOf({ egress }: PreparedRun, end: LauncherEnd): Violation[] {
  const now = Date.now();
  const { arch } = process;
  return [
    ...(isFilterArch(arch) ? syscallViolations(end.refused, arch, now) : []),
    ...networkViolations(egress?.refusals() ?? [], now),
  ];
}

/** RFC-0002: what was refused, what was an attempt to get out, and which limit was passed. */
function tellTrouble({ order: { id }, tell }: RunOrder, { ending, violations }: SandboxEnd): void {
  for (const { type, severity, description, subject, times } of violations) {
    const details = { type, severity, description, subject, times };
    tell({ event: type === "SYSCALL" ? "SYSCALL_BLOCKED" : "POLICY_VIOLATION", id, details });
    if (severity === "CRITICAL") tell({ event: "ESCAPE_ATTEMPT", id, details });
  }
  if (ending.kind === "timeout") tell({ event: "RESOURCE_LIMIT_EXCEEDED", id, details: { limit: "wall" } });
  if (ending.kind === "limit") {
    tell({ event: "RESOURCE_LIMIT_EXCEEDED", id, details: { limit: ending.limit, message: ending.message } });
  }
}
