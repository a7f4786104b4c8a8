import type { SandboxEnd, SandboxOrder, SandboxProcess } from "@sallyport/engine";
import type { Isolation, Violation } from "@sallyport/protocol";
import type { GroupReadings } from "../cgroup/index.ts";
import { type LauncherEnd, type Supervised, supervise } from "../launcher/index.ts";
import type { SandboxEvent } from "../options.ts";
import { isFilterArch } from "../seccomp/index.ts";
import { endingOf } from "./ending.ts";
import { OutputMeter } from "./output-meter.ts";
import type { PreparedRun } from "./prepare-run.ts";
import { networkViolations, syscallViolations } from "./violations.ts";

/** A run that is ready to start. */
export interface RunOrder {
  order: SandboxOrder;
  isolation: Isolation;
  prepared: PreparedRun;
  tell(event: SandboxEvent): void;
}

/** Starts a prepared run and follows it to its end, which includes that nothing of it is left. */
export function runSandbox(run: RunOrder): SandboxProcess {
  const { order, isolation, tell } = run;
  const supervised = supervise(run.prepared.supervise);
  const meter = new OutputMeter(order.limits.outputBytes, () => supervised.kill());
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
