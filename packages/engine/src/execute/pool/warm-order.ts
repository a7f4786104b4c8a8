import { randomUUID } from "node:crypto";
import type { SandboxOrder } from "../../ports/sandbox.ts";
import { type ScriptSpec, withoutLimits } from "../runners/script-spec.ts";

/** From the start until the module is loaded, at most. */
export const LONGEST_LOAD_MS = 30_000;
/** Processor time that loading may take; it is taken off what the call has used. A tool that needs more stays cold. */
const LOAD_CPU_MS = 2_000;

/**
 * The order for a process that will wait. It is the call's own order but for its time: wall and processor time of the
 * call count from the claim, and the runner sees to them; the sandbox is given so much more that it only ends what the
 * runner forgot. The agent's bounds for these two were kept by the call that was started cold with the same key.
 */
export function warmOrder({ order }: ScriptSpec, idleMs: number): SandboxOrder {
  const { limits, bounds } = order;
  const { wallMs, cpuMs } = limits;
  return {
    ...order,
    id: `warm-${randomUUID()}`,
    limits: {
      ...limits,
      wallMs: LONGEST_LOAD_MS + idleMs + 2 * wallMs,
      ...(cpuMs !== undefined && { cpuMs: cpuMs + LOAD_CPU_MS }),
    },
    ...(bounds && { bounds: withoutLimits(bounds, ["wallMs", "cpuMs"]) }),
  };
}
