import type { AgentBounds } from "@sallyport/engine/ports";
import type { Isolation, IsolationLevel } from "@sallyport/protocol";
import type { SandboxHost } from "../host/sandbox-host.ts";
import type { SandboxPlan } from "../plan/sandbox-plan.ts";

/** What a backend is to run. */
export interface BackendOrder {
  plan: SandboxPlan;
  bounds?: AgentBounds;
}

/** How the launcher starts it. */
export interface BackendCommand {
  argv: string[];
  /** More that has to be mounted before. */
  binds?: { source: string; target: string }[];
  /** Removes what was made for this run. */
  dispose?(): Promise<void>;
}

/** A way to isolate a process in namespaces. */
export interface Backend {
  /** `bubblewrap`, `oci-crun` … as it stands on results. */
  readonly name: string;
  readonly level: IsolationLevel;
  /** On which descriptor the launcher's channel reaches the inside. */
  readonly channelFd?: number;
  /** False where refused system calls cannot be seen from outside. */
  readonly canNotify: boolean;
  /** Says what is missing before anything is tried, and what is known of it. */
  look(): Promise<BackendLook>;
  /** Rejects when what it needs for this run cannot be made; nothing is left behind then. */
  command(order: BackendOrder, host: SandboxHost): Promise<BackendCommand>;
}

export interface BackendLook {
  missing: string[];
  fix: string[];
  facts: Record<string, string>;
}

/** What stands on the results of a backend's runs. */
export function isolationOf(backend: Pick<Backend, "name" | "level">): Isolation {
  return { level: backend.level, runner: backend.name };
}
