import { join } from "node:path";
import type { AgentBounds, SandboxLimits, SandboxMount, SandboxOrder } from "@sallyport/engine/ports";
import type { Attempt } from "./attempt.ts";
import { asVariables, fillIn, type Places } from "./places.ts";
import type { Site } from "./site.ts";

const MIB = 1024 * 1024;

/** Small, so that passing them takes no time; but for the time itself, which a busy machine needs to get to the others. */
export const LIMITS: SandboxLimits = {
  wallMs: 12_000,
  memoryBytes: 128 * MIB,
  cpuMs: 6_000,
  processes: 32,
  openFiles: 64,
  fileBytes: 8 * MIB,
  diskBytes: 16 * MIB,
  outputBytes: MIB,
  connections: 8,
};

export interface OrderParts {
  id: string;
  attempt: Attempt;
  site: Site;
  places: Places;
  /** Folders with sockets and with device nodes. */
  extra: { sockets: string; devices: string | undefined };
  /** By which its processes are found on the host. */
  mark: string;
  /** Inside its agent's sandbox, which has no more than it needs. */
  nested: boolean;
}

/** The sandbox an attempt gets: what a tool with a workspace and a read-only folder would get. */
export function makeOrder(parts: OrderParts): SandboxOrder {
  const { id, attempt, site, places, mark } = parts;
  const { programs, hiddenSocket } = places;
  const workspace = "workspace" in site.given ? { workspace: site.given.workspace } : {};
  return {
    id,
    level: "LEVEL_2",
    argv: argvOf(attempt, places),
    env: { ...asVariables(places), X_MARK: mark },
    cwd: site.workspace,
    mounts: [
      { source: programs, target: programs, mode: "ro" },
      { source: site.readOnly, target: site.readOnly, mode: "ro" },
      ...("mounts" in site.given ? site.given.mounts : []),
      ...extraMounts(parts),
    ],
    ...workspace,
    hidden: [...site.hidden, hiddenSocket],
    egress: attempt.egress ?? [],
    limits: { ...LIMITS, ...attempt.limits },
    ...(parts.nested && { bounds: boundsOf(parts) }),
  };
}

function boundsOf({ site, places, extra, attempt }: OrderParts): AgentBounds {
  const folders = [
    site.folder,
    places.programs,
    extra.sockets,
    ...(extra.devices === undefined ? [] : [extra.devices]),
  ];
  return {
    agent: "escape",
    limits: { wallMs: LIMITS.wallMs, processes: LIMITS.processes, memoryBytes: 8 * LIMITS.memoryBytes },
    filesystem: folders.map((path) => ({ path, mode: "rw" })),
    network: attempt.egress?.map(({ host, port }) => ({ host, ...(port !== undefined && { port }) })) ?? [],
  };
}

function argvOf({ run }: Attempt, places: Places): string[] {
  if ("sh" in run) return ["/bin/sh", "-c", `echo TRYING; ${fillIn(run.sh, places)}`];
  const args = (run.args ?? []).map((text) => fillIn(text, places));
  return [join(places.programs, "attack"), run.attack, ...args];
}

function extraMounts({ attempt, extra }: OrderParts): SandboxMount[] {
  const folder = attempt.extra === undefined ? undefined : extra[attempt.extra];
  return folder === undefined ? [] : [{ source: folder, target: folder, mode: "ro" }];
}
