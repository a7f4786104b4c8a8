import type { Violation } from "@sallyport/protocol";
import type { RefusedSyscall } from "../launcher/index.ts";
import type { OpenedEgress } from "../options.ts";
import { type FilterArch, syscallName, syscallSeverity } from "../seccomp/index.ts";

/** System calls that were refused and seen, by call and program. */
export function syscallViolations(
  refused: readonly RefusedSyscall[],
  arch: FilterArch,
  at: number,
): Violation[] {
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
export function networkViolations(refusals: ReturnType<OpenedEgress["refusals"]>, at: number): Violation[] {
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
