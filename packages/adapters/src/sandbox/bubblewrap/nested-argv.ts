import type { AgentBounds } from "@sallyport/engine";
import { boundMode } from "../bounds/bound-mode.ts";
import { isWithin } from "../plan/paths.ts";
import type { PlannedBind, SandboxPlan } from "../plan/sandbox-plan.ts";
import type { SystemLayout } from "../plan/system-layout.ts";
import { bubblewrapArgv } from "./argv.ts";

/** The agent's sandbox around a tool's (BC-1). */
export interface OuterSandbox {
  /** The absolute path of bwrap, which runs once more inside. */
  bubblewrap: string;
  system: SystemLayout;
  bounds: AgentBounds;
  /** Folders of the sandbox itself, which no agent's rule is about. */
  own: readonly string[];
}

/**
 * bwrap's arguments for a tool's sandbox inside its agent's. The outer one has no filter and may make namespaces, or
 * the inner one could not; it shows what the agent may see and nothing else, so that the inner one cannot mount more.
 */
export function nestedArgv(outer: OuterSandbox, inner: SandboxPlan): string[] {
  const { uid, gid } = inner.user;
  return [
    ...["--unshare-user", "--unshare-all", "--die-with-parent", "--as-pid-1"],
    ...["--uid", String(uid), "--gid", String(gid), "--cap-drop", "ALL", "--clearenv"],
    ...["--proc", "/proc", "--dev", "/dev"],
    ...[...outer.system.folders, ...outer.system.settings, ...programFolder(outer)].flatMap((path) => [
      ...["--ro-bind", path, path],
    ]),
    ...outer.system.links.flatMap(({ path, leadsTo }) => ["--symlink", leadsTo, path]),
    ...outerBinds(outer, inner).flatMap(({ source, mode }) => [
      mode === "ro" ? "--ro-bind" : "--bind",
      source,
      source,
    ]),
    ...["--remount-ro", "/", "--", outer.bubblewrap],
    ...bubblewrapArgv(inner),
  ];
}

function programFolder(outer: OuterSandbox): string[] {
  const isSeen = outer.system.folders.some((folder) => isWithin(outer.bubblewrap, folder));
  return isSeen ? [] : [outer.bubblewrap];
}

/** What the inner sandbox wants to mount, as far as the agent has it, and as weakly as either says. */
function outerBinds(outer: OuterSandbox, inner: SandboxPlan): PlannedBind[] {
  const system = [...outer.system.folders, ...outer.system.settings];
  const wanted = inner.mounts.filter((mount) => mount.kind === "bind");
  return wanted
    .filter((bind) => !system.includes(bind.source))
    .flatMap((bind) => {
      const mode = allowedMode(bind, outer);
      return mode === undefined ? [] : [{ ...bind, mode }];
    })
    .toSorted((a, b) => a.source.length - b.source.length);
}

function allowedMode(bind: PlannedBind, outer: OuterSandbox): "ro" | "rw" | undefined {
  if (outer.own.some((folder) => isWithin(bind.host, folder))) return "ro";
  if (outer.bounds.filesystem === undefined) return bind.mode;
  const mode = boundMode(bind.host, outer.bounds.filesystem);
  return mode === "rw" ? bind.mode : mode;
}
